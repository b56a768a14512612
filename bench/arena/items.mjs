// The HTTP/1.1 profiles of HttpArena (http-arena.com), which w12 implements: which requests they send, and which responses are right, in
// our own words.
//
// - baseline: the sum of two query values, or of these and a body that is a number, with Content-Length or in chunks; text/plain.
// - json: the first `count` of fifty items, each with `total` = price × quantity × m. The pairs of count and m are HttpArena's.
// - upload: the number of bytes in the body, counted as they are read, not taken from the head.
import { seededNumbers } from '../message.mjs'

const ITEM_COUNT = 50
const below = seededNumbers(0xa3e4a)
const CATEGORIES = ['electronics', 'tools', 'books', 'garden']
const WORDS = ['fast', 'new', 'blue', 'sturdy', 'popular', 'small', 'spare', 'light']
const FIRST = ['Alpha', 'Copper', 'Harbour', 'Lunar', 'Meadow', 'Northern', 'Quiet', 'Rapid']
const SECOND = ['Anchor', 'Basket', 'Compass', 'Drill', 'Engine', 'Ferry', 'Lantern', 'Wrench']
const oneOf = (list) => list[below(list.length)]

export const ITEMS = Array.from({ length: ITEM_COUNT }, (_, i) => ({
  id: i + 1,
  name: `${oneOf(FIRST)} ${oneOf(SECOND)}`,
  category: oneOf(CATEGORIES),
  price: 1 + below(500),
  quantity: 1 + below(100),
  active: below(2) === 0,
  tags: [oneOf(WORDS), oneOf(WORDS)],
  rating: { score: below(50), count: below(500) },
}))

export const COUNTS_AND_FACTORS = [
  [1, 3],
  [5, 7],
  [10, 2],
  [15, 5],
  [25, 4],
  [40, 8],
  [50, 6],
]

/** What a handler of `/json/:count?m=` responds with, created anew for every request. */
export function firstItems(count, m) {
  const items = ITEMS.slice(0, count).map(({ id, name, category, price, quantity, active, tags, rating }) => {
    return { id, name, category, price, quantity, active, tags, rating, total: price * quantity * m }
  })
  return { items, count: items.length }
}

export const UPLOAD_SIZES = [500 * 1024, 2 * 2 ** 20, 10 * 2 ** 20, 20 * 2 ** 20]
export const MAX_UPLOAD = 32 * 2 ** 20
