#include "plugin/ofi/lost_infos.h"

#include <cstring>
#include <new>

namespace railwitness::ofi {

struct MarkedInfo {
  fid_nic nic;  // first: fi_freeinfo closes it
  fi_info* info;
  LostInfos* owner;  // null: we are freeing it
  MarkedInfo* next;
};

int LostInfos::was_freed(fid* nic) {
  auto* marked = reinterpret_cast<MarkedInfo*>(nic);
  if (LostInfos* owner = marked->owner) {
    const std::lock_guard guard(owner->lock_);
    MarkedInfo** at = &owner->first_;
    while (*at && *at != marked) at = &(*at)->next;
    if (*at) *at = marked->next;
  }
  delete marked;
  return 0;
}

void LostInfos::mark(fi_info* info) {
  static constinit fi_ops ops = [] {
    fi_ops o{};
    o.size = sizeof o;
    o.close = &LostInfos::was_freed;
    return o;
  }();
  if (!info || info->nic) return;
  auto* marked = new (std::nothrow) MarkedInfo{};
  if (!marked) return;
  marked->nic.fid.fclass = FI_CLASS_NIC;
  marked->nic.fid.ops = &ops;
  marked->info = info;
  marked->owner = this;
  info->nic = &marked->nic;
  const std::lock_guard guard(lock_);
  marked->next = first_;
  first_ = marked;
}

int LostInfos::passive_endpoint(fid_fabric* fabric, fi_info* info, fid_pep** endpoint, void* context) {
  auto* table = reinterpret_cast<FabricTable*>(fabric->ops);
  const int result = table->original->passive_ep(fabric, info, endpoint, context);
  if (result == 0) table->owner->mark(info);  // else the provider frees it
  return result;
}

// Ours come along here too, and those of connections that the provider opens: these belong to an endpoint, which frees them.
// The description of one that it accepts has a handle.
int LostInfos::endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context) {
  auto* table = reinterpret_cast<DomainTable*>(domain->ops);
  const bool is_accepted = info && info->handle;
  const int result = table->original->endpoint(domain, info, endpoint, context);
  if (result == 0 && is_accepted) table->owner->mark(info);
  return result;
}

void LostInfos::watch(fid_fabric* fabric) {
  if (fabric->ops->size > sizeof(fi_ops_fabric) || !FI_CHECK_OP(fabric->ops, fi_ops_fabric, passive_ep)) return;
  memcpy(&fabric_.copy, fabric->ops, fabric->ops->size);
  fabric_.original = fabric->ops;
  fabric_.owner = this;
  fabric_.copy.passive_ep = &LostInfos::passive_endpoint;
  fabric->ops = &fabric_.copy;
}

void LostInfos::watch(fid_domain* domain) {
  if (domain->ops->size > sizeof(fi_ops_domain) || !FI_CHECK_OP(domain->ops, fi_ops_domain, endpoint)) return;
  memcpy(&domain_.copy, domain->ops, domain->ops->size);
  domain_.original = domain->ops;
  domain_.owner = this;
  domain_.copy.endpoint = &LostInfos::endpoint;
  domain->ops = &domain_.copy;
}

void LostInfos::stop(fid_fabric* fabric, fid_domain* domain) {
  if (fabric && fabric_.original) fabric->ops = fabric_.original;
  if (domain && domain_.original) domain->ops = domain_.original;
}

int LostInfos::give_back(const Library& library) {
  for (int count = 0;; count++) {
    MarkedInfo* marked = nullptr;
    {
      const std::lock_guard guard(lock_);
      marked = first_;
      if (marked) first_ = marked->next;
    }
    if (!marked) return count;
    marked->owner = nullptr;
    library.freeinfo(marked->info);
  }
}

}  // namespace railwitness::ofi
