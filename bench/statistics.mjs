// Medians and spreads.

export function median(numbers) {
  return quantile(numbers, 0.5)
}

/** Interpolates linearly between the two nearest numbers. */
export function quantile(numbers, share) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const below = Math.floor(place)
  const above = Math.ceil(place)
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below)
}

/** Half the width of the middle 80 percent, as a share of the median: how much single rounds differ. */
export function spread(numbers) {
  return (quantile(numbers, 0.9) - quantile(numbers, 0.1)) / 2 / median(numbers)
}

/**
 * How exact the median is: half the width of its 95 % confidence interval, as a share of the median. It uses order statistics, and so makes
 * no assumption about the noise, which is far from normal here. With fewer than six numbers it is their whole range.
 */
export function uncertainty(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const low = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)))
  return (sorted[sorted.length - 1 - low] - sorted[low]) / 2 / median(numbers)
}
