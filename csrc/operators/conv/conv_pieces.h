// Convolutions cut into pieces that threads compute apart. Only sizes decide how, so the bits are
// the same for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "operators/conv/conv_geometry.h"

namespace dygraph::conv {

// Some images, or some rows or output channels of one, as a convolution of its own, and where its
// numbers begin in the whole: those of the inputs and of the outputs, channels last.
struct Piece {
  Geometry g;
  int64_t x = 0, y = 0;
  int64_t channel = 0;  // of the outputs, the first
};

inline int64_t InSize(const Geometry& g) { return g.c * g.d.size * g.h.size * g.w.size; }
inline int64_t OutSize(const Geometry& g) { return g.out_c * g.d.Out() * g.h.Out() * g.w.Out(); }

// Multiplications of one image, as if nothing were left out at the borders.
inline int64_t ImageWork(const Geometry& g) {
  return OutSize(g) * (g.c / g.groups) * g.d.kernel * g.h.kernel * g.w.kernel;
}

// How many pieces are worth it: a power of two, so that they share out evenly; of long calls more,
// for between pieces Ctrl-C is looked for.
constexpr int64_t kPieces = 16;
inline int64_t WantedPieces(const Geometry& g) {
  constexpr int64_t kLeast = 1 << 21, kMost = int64_t{1} << 31;
  const int64_t work = std::max<int64_t>(ImageWork(g), 1) * g.n;
  int64_t wanted = 1;
  while (work / wanted >= 2 * kLeast && (wanted < kPieces || work / wanted > kMost)) wanted *= 2;
  return wanted;
}

// Some images each.
inline std::vector<Piece> CutImages(const Geometry& g, int64_t wanted) {
  const int64_t parts = std::max<int64_t>(1, std::min(g.n, wanted));
  std::vector<Piece> pieces(parts);
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = g.n * i / parts;
    pieces[i] = {g, first * InSize(g), first * OutSize(g)};
    pieces[i].g.n = g.n * (i + 1) / parts - first;
  }
  return pieces;
}

// Rows are cut where there are fewer images than pieces wanted and a window reaches over each
// border by less than its size: into a power of two, which threads share evenly.
constexpr int64_t kLeastRows = 3;
inline int64_t RowParts(const Geometry& g, int64_t wanted, int64_t rows) {
  const window::Axis& h = g.h;
  if (g.d.Padded() > 1 || h.before < 0 || h.after < 0 || h.before >= h.Reach() ||
      h.after >= h.Reach())
    return 1;
  const int64_t most =
      std::min((wanted + g.n - 1) / g.n, rows / std::max(kLeastRows, 2 * h.stride));
  int64_t parts = 1;
  while (2 * parts <= most) parts *= 2;
  return parts;
}

// Of one image output channels are cut in place of rows where the filter is large and the image is
// not: a piece of few rows reads all of the filter for little work. The outputs of a piece are
// copied to their place, which costs little beside sums of so many numbers. 1: rows are better.
inline int64_t ChannelParts(const Geometry& g, int64_t wanted) {
  constexpr int64_t kMostParts = 8, kLeastChannels = 32, kLeastSum = 256, kMostInput = 1 << 20;
  const int64_t sum = g.c * g.d.kernel * g.h.kernel * g.w.kernel;
  if (g.n != 1 || g.groups > 1 || wanted > kPieces || sum < kLeastSum || InSize(g) > kMostInput)
    return 1;
  const int64_t parts = std::min(kMostParts, wanted);
  return g.out_c >= parts * kLeastChannels ? parts : 1;
}
inline std::vector<Piece> CutChannels(const Geometry& g, int64_t parts) {
  constexpr int64_t kUnit = 16;
  const int64_t step = ((g.out_c + parts - 1) / parts + kUnit - 1) / kUnit * kUnit;
  std::vector<Piece> pieces;
  for (int64_t channel = 0; channel < g.out_c; channel += step) {
    pieces.push_back({g, 0, channel, channel});
    pieces.back().g.out_c = std::min(step, g.out_c - channel);
  }
  return pieces;
}

// For the outputs.
inline std::vector<Piece> CutForward(const Geometry& g) {
  constexpr int64_t kWorthTwo = 1 << 20;  // of several images, which need no other cut
  const bool two = g.n > 1 && ImageWork(g) * g.n >= kWorthTwo;
  const int64_t wanted = std::max<int64_t>(WantedPieces(g), two ? 2 : 1), rows = g.h.Out();
  if (g.n >= wanted) return CutImages(g, wanted);
  if (const int64_t parts = ChannelParts(g, wanted); parts > 1) return CutChannels(g, parts);
  const int64_t parts = RowParts(g, wanted, rows);
  if (parts == 1) return CutImages(g, wanted);
  const window::Axis& h = g.h;
  std::vector<Piece> pieces(g.n * parts);
  for (int64_t i = 0; i < g.n * parts; ++i) {
    const int64_t image = i / parts, r0 = rows * (i % parts) / parts,
                  r1 = rows * (i % parts + 1) / parts;
    const int64_t top = r0 * h.stride - h.before,
                  bottom = (r1 - 1) * h.stride - h.before + h.Reach();
    const int64_t first = std::max<int64_t>(top, 0), last = std::min(bottom, h.size);
    pieces[i] = {g, image * InSize(g) + first * g.w.size * g.c,
                 image * OutSize(g) + r0 * g.w.Out() * g.out_c};
    pieces[i].g.n = 1;
    pieces[i].g.h.size = last - first;
    pieces[i].g.h.before = first - top;
    pieces[i].g.h.after = bottom - last;
  }
  return pieces;
}

// For the gradient of the inputs: rows of these, cut where a window begins.
inline std::vector<Piece> CutBackwardInput(const Geometry& g) {
  const int64_t wanted = WantedPieces(g), rows = g.h.size, parts = RowParts(g, wanted, rows);
  if (g.n >= wanted || parts == 1) return CutImages(g, wanted);
  const window::Axis& h = g.h;
  auto cut = [&](int64_t part) {
    if (part == 0) return int64_t{0};
    if (part == parts) return rows;
    const int64_t row = rows * part / parts;
    return row - (row + h.before) % h.stride;
  };
  std::vector<Piece> pieces(g.n * parts);
  for (int64_t i = 0; i < g.n * parts; ++i) {
    const int64_t image = i / parts, r0 = cut(i % parts), r1 = cut(i % parts + 1);
    // windows [o0, o1) reach rows [r0, r1)
    const int64_t o0 = std::max<int64_t>(r0 + h.before - h.Reach() + h.stride, 0) / h.stride;
    const int64_t o1 = std::min(h.Out(), (r1 - 1 + h.before) / h.stride + 1);
    if (o1 <= o0) return CutImages(g, wanted);
    pieces[i] = {g, image * InSize(g) + r0 * g.w.size * g.c,
                 image * OutSize(g) + o0 * g.w.Out() * g.out_c};
    window::Axis& own = pieces[i].g.h;
    pieces[i].g.n = 1;
    own.size = r1 - r0;
    own.before = h.before + r0 - o0 * h.stride;
    own.after = (o1 - o0 - 1) * h.stride + h.Reach() - own.size - own.before;
    if (own.before < 0) return CutImages(g, wanted);
  }
  return pieces;
}

// The gradient of the filter is a sum over images: either some images each, whose sums are added in
// their order, or all images and some output channels each, whose numbers are copied together.
struct FilterPieces {
  int64_t images = 1;    // how many pieces of images
  int64_t channels = 0;  // of a piece; 0: all
};
inline FilterPieces CutBackwardFilter(const Geometry& g) {
  constexpr int64_t kUnit = 16, kLeastChannels = 32, kEnough = 4;
  const int64_t wanted = WantedPieces(g);
  const int64_t filter = g.out_c * (g.c / g.groups) * g.d.kernel * g.h.kernel * g.w.kernel;
  FilterPieces by;
  by.images = std::max<int64_t>(1, std::min(g.n, wanted));
  const bool may_cut_channels = g.groups == 1 && g.out_c >= 2 * kLeastChannels;
  if (!may_cut_channels) return by;
  // sums in memory should move no more numbers than the copies of the outputs
  while (by.images > 1 && (by.images - 1) * filter > g.n * OutSize(g)) by.images /= 2;
  if (by.images >= std::min(wanted, kEnough)) return by;
  by.images = 1;
  by.channels = std::max(kLeastChannels, (g.out_c / wanted + kUnit - 1) / kUnit * kUnit);
  return by;
}

}  // namespace dygraph::conv
