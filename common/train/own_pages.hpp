#pragma once

#include <string>

#include "course/workspace/checkout.hpp"

namespace course::train {

/// The prose of a page in Markdown: headings, paragraphs and lists, with links as their words; no code,
/// tables, formulas on lines of their own, pictures or comments.
std::string prose_of(const std::string& markdown);

/// The prose of the course's own pages: README.md and each lesson's, in their order.
std::string own_pages(const program::Checkout& checkout);

}  // namespace course::train
