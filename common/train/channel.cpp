#include "train/channel.hpp"

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "text/text_file.hpp"

namespace course::train {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* order_name = "order.json";

fs::path use_file(const fs::path& folder, int rank) {
  return folder / ("rank" + std::to_string(rank) + ".json");
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Settings, text, ranks, context, steps, hidden, heads, layers, layout,
                                   in_registers, seed, mine, sample, compare)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, settings, library, layer, block, block_backward, ring, ring_forward,
                                   ring_backward, from, out, last, evaluate, save, step_operations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankUse, rank, tokens, peak_bytes, bytes_sent, compute_s, wait_s)

void write_order(const fs::path& folder, const Order& order) {
  write_text(folder / order_name, json(order).dump(1) + "\n");
}

Order read_order(const fs::path& folder) {
  return json::parse(read_text(folder / order_name)).get<Order>();
}

std::string to_line(const StepNews& news) {
  json line{{"step", news.step}, {"loss", news.loss}, {"norm", news.norm}, {"seconds", news.seconds}};
  if (news.held_out) line["held_out"] = *news.held_out;
  return line.dump();
}

StepNews step_of_line(const std::string& line) {
  const json read = json::parse(line);
  // JSON has no infinity: it is null.
  const auto number = [&](const char* name) {
    return read.at(name).is_null() ? std::numeric_limits<double>::infinity() : read.at(name).get<double>();
  };
  StepNews news{read.at("step"), number("loss"), number("norm"), {}, number("seconds")};
  if (read.contains("held_out")) news.held_out = number("held_out");
  return news;
}

std::vector<StepNews> StepReader::read() {
  std::vector<StepNews> news;
  std::ifstream file(file_, std::ios::binary);
  file.seekg(read_);
  // A line without its end is being written.
  for (std::string line; std::getline(file, line) && !file.eof();) {
    read_ += static_cast<std::streamoff>(line.size()) + 1;
    news.push_back(step_of_line(line));
  }
  return news;
}

void write_use(const fs::path& folder, const RankUse& use) {
  write_text(use_file(folder, use.rank), json(use).dump() + "\n");
}

RankUse read_use(const fs::path& folder, int rank) {
  return json::parse(read_text(use_file(folder, rank))).get<RankUse>();
}

}  // namespace course::train
