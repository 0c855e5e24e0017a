// Rails x hosts as a picture: a block for each unit, a row for each rail, a column for each host, a cell for each NIC. What is
// found stands out by a letter and a strong colour, so that neither alone is needed (Okabe and Ito's colours, told apart by the
// colour-blind), in light and dark. Pure; everything that sources said is escaped, nothing is loaded from elsewhere.
#ifndef RAILWITNESS_PROBES_FABRIC_PICTURE_H_
#define RAILWITNESS_PROBES_FABRIC_PICTURE_H_

#include <string>
#include <string_view>

#include "probes/fabric/findings.h"
#include "probes/fabric/map.h"
#include "probes/fabric/rails.h"

namespace railwitness::fabric {

std::string picture_svg(const FabricMap& map, const Rails& rails, const Judgement& judgement);

// The picture, the findings with their evidence, the sources and the notes on one page.
std::string picture_html(const FabricMap& map, const Rails& rails, const Judgement& judgement);

// "8 hosts, 63 NICs, 12 switches, 126 cables; 8 rails in 1 unit".
std::string summary_text(const FabricMap& map, const Rails& rails);

// For HTML and SVG, in text and in attributes; control characters become '?', bytes that are no UTF-8 U+FFFD: one such byte, and
// no viewer would show the picture.
std::string escaped(std::string_view text);

}  // namespace railwitness::fabric

#endif  // RAILWITNESS_PROBES_FABRIC_PICTURE_H_
