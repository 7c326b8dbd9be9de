#include "train/curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "text/text_file.hpp"
#include "text/utf8.hpp"
#include "text/wrapped.hpp"

namespace course::train {

namespace {

/// The least and the largest of the losses, apart.
struct Range {
  double low, high;
  double share(double value) const { return (value - low) / (high - low); }
};

Range range_of(const std::vector<StepNews>& steps) {
  Range range{steps[0].loss, steps[0].loss};
  const auto enter = [&](double loss) {
    if (!std::isfinite(loss)) return;
    range.low = std::min(range.low, loss);
    range.high = std::max(range.high, loss);
  };
  for (const StepNews& step : steps) {
    enter(step.loss);
    if (step.held_out) enter(*step.held_out);
  }
  if (range.high - range.low < 1e-6) range.high = range.low + 1e-6;
  return range;
}

/// 1, 2 or 5 times a power of ten: the least with which an axis has no more than so many parts.
double tick_of(double length, int parts) {
  const double power = std::pow(10.0, std::floor(std::log10(length / parts)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power * parts >= length) return factor * power;
  return 10 * power;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : clean_utf8(text))
    safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return safe;
}

// ---- the picture ----

constexpr const char *ink = "#1b1f24", *pale = "#57606a", *grid_ink = "#d8dee4";
/// Of Okabe and Ito's palette, which colour-blind readers can tell apart.
constexpr const char *blue = "#0072B2", *light_blue = "#9fc9e3", *orange = "#D55E00";

class Picture {
 public:
  explicit Picture(const Curve& curve)
      : curve_(curve),
        first_(static_cast<double>(curve.steps.front().step)),
        last_(std::max(first_ + 1, static_cast<double>(curve.steps.back().step + 1))) {}

  std::string draw() {
    text(left, 34, 20, ink, curve_.title, "font-weight='600'");
    height_ = 38;
    paragraph(curve_.note);
    paragraph(
        "Loss: the mean of -log p of the byte that follows, in nats; log 256 = 5.545 is what guessing costs. "
        "Pale: each step's window. Blue: the mean of the steps around it. Orange: on the last tenth of the "
        "text, which no step sees.");
    losses(height_ + 24, 330);
    if (!curve_.differences.empty()) differences(height_ + 8, 190);
    return fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' role='img' "
        "font-family='system-ui, -apple-system, \"Segoe UI\", \"DejaVu Sans\", Helvetica, Arial, "
        "sans-serif'>\n"
        "<title>{2}</title>\n<rect width='{0}' height='{1}' fill='#ffffff'/>\n{3}</svg>\n",
        width, height_ + 20, escaped(curve_.title), body_);
  }

 private:
  static constexpr double width = 1000, left = 76, right = 870;

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
  }

  void text(double x, double y, double size, const char* colour, const std::string& words,
            const std::string& more = "") {
    put("<text x='{:.1f}' y='{:.1f}' font-size='{}' fill='{}' {}>{}</text>\n", x, y, size, colour, more,
        escaped(words));
  }

  /// Below what has been drawn, in lines that fit.
  void paragraph(const std::string& words) {
    constexpr std::size_t columns = 125;
    for (const std::string& line : lines_of(wrapped(words, columns)))
      text(left, height_ += 18, 13, pale, line);
  }

  double x_of(double step) const { return left + (step - first_) / (last_ - first_) * (right - left); }

  /// The axis of steps, whole numbers, under a plot from top to bottom.
  void steps_axis(double top, double bottom, double first, double last, const char* name) {
    const double tick = std::max(1.0, tick_of(last - first, 10));
    for (double step = std::ceil(first / tick) * tick; step <= last; step += tick) {
      const double x = left + (step - first) / (last - first) * (right - left);
      put("<line x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2}' stroke='{3}'/>\n", x, top, bottom + 4, grid_ink);
      text(x, bottom + 19, 12, ink, fmt::format("{:.0f}", step), "text-anchor='middle'");
    }
    text((left + right) / 2, bottom + 38, 12.5, pale, name, "text-anchor='middle'");
  }

  void level(double y, const std::string& label) {
    put("<line x1='{}' y1='{:.1f}' x2='{}' y2='{:.1f}' stroke='{}'/>\n", left, y, right, y, grid_ink);
    text(left - 8, y + 4, 12, ink, label, "text-anchor='end'");
  }

  /// A line through points (step, y); of one point nothing is seen.
  void line(const std::vector<std::pair<double, double>>& points, const char* colour, double thickness) {
    std::string path;
    for (const auto& [step, y] : points)
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x_of(step), y);
    put("<polyline points='{}' fill='none' stroke='{}' stroke-width='{}' stroke-linejoin='round'/>\n", path,
        colour, thickness);
  }

  void losses(double top, double tall) {
    const double bottom = top + tall;
    Range range = range_of(curve_.steps);
    const double margin = 0.04 * (range.high - range.low);
    range = {range.low - margin, range.high + margin};
    const auto y_of = [&](double loss) { return bottom - range.share(loss) * tall; };
    const double tick = tick_of(range.high - range.low, 7);
    const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(tick) - 1e-9)), 0, 9);
    for (double loss = std::ceil(range.low / tick) * tick; loss <= range.high; loss += tick)
      level(y_of(loss), fmt::format("{:.{}f}", loss, digits));
    steps_axis(top, bottom, first_, last_, "steps made");
    std::vector<std::pair<double, double>> each, smooth, held_out;
    const std::vector<double> means = means_around();
    for (std::size_t i = 0; i < curve_.steps.size(); ++i) {
      const StepNews& step = curve_.steps[i];
      const double at = static_cast<double>(step.step);
      each.emplace_back(at, y_of(step.loss));
      smooth.emplace_back(at, y_of(means[i]));
      if (step.held_out && std::isfinite(*step.held_out)) held_out.emplace_back(at + 1, y_of(*step.held_out));
    }
    line(each, light_blue, 1);
    line(smooth, blue, 2);
    if (held_out.size() > 1) line(held_out, orange, 1.2);
    for (const auto& [at, y] : held_out)
      put("<circle cx='{:.1f}' cy='{:.1f}' r='4' fill='{}' stroke='#ffffff'/>\n", x_of(at), y, orange);
    labels(y_of(means.back()), held_out.empty() ? -1 : held_out.back().second, means.back());
    height_ = bottom + 46;
  }

  /// At the right ends of the lines, not on each other.
  void labels(double y_train, double y_held_out, double train) {
    const bool is_below = y_held_out >= y_train;
    if (y_held_out >= 0 && std::abs(y_held_out - y_train) < 32)
      (is_below ? y_held_out : y_train) = (is_below ? y_train : y_held_out) + 32;
    text(right + 10, y_train + 1, 12.5, blue, "training text");
    text(right + 10, y_train + 15, 12.5, blue, fmt::format("{:.4f}", train));
    if (y_held_out < 0) return;
    const auto last = std::find_if(curve_.steps.rbegin(), curve_.steps.rend(), [](const StepNews& step) {
      return step.held_out && std::isfinite(*step.held_out);
    });
    text(right + 10, y_held_out + 1, 12.5, orange, "held-out text");
    text(right + 10, y_held_out + 15, 12.5, orange, fmt::format("{:.4f}", *last->held_out));
  }

  /// Of each step the mean of the losses around it, a fortieth of all on either side.
  std::vector<double> means_around() const {
    const auto size = static_cast<std::ptrdiff_t>(curve_.steps.size());
    const std::ptrdiff_t reach = size / 40;
    std::vector<double> means;
    for (std::ptrdiff_t i = 0; i < size; ++i) {
      const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, i - reach),
                           end = std::min(size, i + reach + 1);
      double sum = 0;
      for (std::ptrdiff_t j = begin; j < end; ++j) sum += curve_.steps[static_cast<std::size_t>(j)].loss;
      means.push_back(sum / static_cast<double>(end - begin));
    }
    return means;
  }

  void differences(double top, double tall) {
    constexpr int low = -9, high = -1;
    text(left, top + 14, 14, ink, "How far these losses are from one rank's", "font-weight='600'");
    height_ = top + 16;
    paragraph(
        fmt::format("The same first steps again on one rank. Allowed: {:.0e}, the red line. A point at the "
                    "bottom: no bit "
                    "of float32 differs.",
                    curve_.allowed));
    top = height_ + 14;
    const double bottom = top + tall;
    const auto y_of = [&](double difference) {
      const double power = difference > 0 ? std::log10(difference) : low;
      return bottom - (std::clamp(power, double{low}, double{high}) - low) / (high - low) * tall;
    };
    for (int power = low; power <= high; power += 2)
      level(y_of(std::pow(10.0, power)), fmt::format("1e{}", power));
    const double first = static_cast<double>(curve_.differences.front().step);
    const double last = std::max(first + 1, static_cast<double>(curve_.differences.back().step));
    steps_axis(top, bottom, first, last, "step");
    put("<line x1='{}' y1='{:.1f}' x2='{}' y2='{:.1f}' stroke='#b30000' stroke-width='1.2' "
        "stroke-dasharray='6 4'/>\n",
        left, y_of(curve_.allowed), right, y_of(curve_.allowed));
    for (const Difference& one : curve_.differences)
      put("<circle cx='{:.1f}' cy='{:.1f}' r='4' fill='{}'><title>step {}: {:.1e}</title></circle>\n",
          left + (static_cast<double>(one.step) - first) / (last - first) * (right - left), y_of(one.of_loss),
          blue, one.step, one.of_loss);
    height_ = bottom + 46;
  }

  const Curve& curve_;
  double first_, last_;
  double height_ = 0;  ///< of what has been drawn
  std::string body_;
};

}  // namespace

std::string terminal_curve(const Curve& curve, int columns, bool utf8) {
  constexpr int rows = 12, axis = 8, most = 100;
  const std::size_t steps = curve.steps.size();
  const std::size_t across =
      std::min(steps, static_cast<std::size_t>(std::clamp(columns - axis - 1, 20, most)));
  const Range range = range_of(curve.steps);
  std::vector<std::vector<const char*>> page(rows, std::vector<const char*>(across, " "));
  const auto mark = [&](std::size_t column, double loss, const char* with) {
    const int row = static_cast<int>(std::lround((1 - range.share(loss)) * (rows - 1)));
    page[static_cast<std::size_t>(std::clamp(row, 0, rows - 1))][column] = with;
  };
  const auto column_of = [&](std::size_t step) { return step * across / steps; };
  std::vector<double> sums(across, 0.0), counts(across, 0.0);
  for (std::size_t i = 0; i < steps; ++i) {
    sums[column_of(i)] += curve.steps[i].loss;
    counts[column_of(i)] += 1;
  }
  for (std::size_t column = 0; column < across; ++column)
    mark(column, sums[column] / counts[column], utf8 ? "•" : "*");
  bool any = false;
  for (std::size_t i = 0; i < steps; ++i) {
    if (!curve.steps[i].held_out || !std::isfinite(*curve.steps[i].held_out)) continue;
    mark(column_of(i), *curve.steps[i].held_out, "o");
    any = true;
  }
  std::string text;
  for (int row = 0; row < rows; ++row) {
    const double loss = range.high - (range.high - range.low) * row / (rows - 1);
    std::string line =
        row % 3 == 0 || row == rows - 1 ? fmt::format("{:7.3f} ", loss) : std::string(axis, ' ');
    line += utf8 ? "│" : "|";
    for (const char* const cell : page[static_cast<std::size_t>(row)]) line += cell;
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const std::string first = fmt::format("step {}", curve.steps.front().step),
                    last = fmt::format("{}", curve.steps.back().step);
  const std::size_t between = std::max(first.size() + 1, across + 1 - std::min(across, last.size()));
  text += std::string(axis, ' ') + fmt::format("{:<{}}{}", first, between, last) + "\n";
  return text + std::string(axis, ' ') + (utf8 ? "•" : "*") + " loss" +
         (any ? "   o on the held-out text" : "") + "\n";
}

std::string svg_curve(const Curve& curve) {
  return Picture(curve).draw();
}

}  // namespace course::train
