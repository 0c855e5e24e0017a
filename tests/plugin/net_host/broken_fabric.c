/* A libfabric.so.1 that is not what it should be: without BROKEN_FABRIC_WHOLE it lacks functions; with it, it is there, says
   BROKEN_FABRIC_VERSION and finds nothing. Only the names matter, so no header of libfabric's is asked. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

uint32_t fi_version(void);
uint32_t fi_version(void) { return BROKEN_FABRIC_VERSION; }
#ifdef BROKEN_FABRIC_WHOLE
int fi_getinfo(uint32_t, const char*, const char*, uint64_t, const void*, void**);
void fi_freeinfo(void*);
void* fi_dupinfo(const void*);
int fi_fabric(void*, void**, void*);
const char* fi_strerror(int);
int fi_getinfo(uint32_t version, const char* node, const char* service, uint64_t flags, const void* hints, void** info) {
  (void)version, (void)node, (void)service, (void)flags, (void)hints, (void)info;
  return -ENOSYS;
}
void fi_freeinfo(void* info) { (void)info; }
void* fi_dupinfo(const void* info) {
  (void)info;
  return NULL; /* as when there is no memory */
}
int fi_fabric(void* attr, void** fabric, void* context) {
  (void)attr, (void)fabric, (void)context;
  return -ENOSYS;
}
const char* fi_strerror(int error) {
  (void)error;
  return "broken";
}
#endif
