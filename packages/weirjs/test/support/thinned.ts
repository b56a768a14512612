// How many of very many cases `npm test` tries. `npm run test:all`, and a run of the file alone, try all of them.

export const isThinned = process.env['WEIR_TEST_QUICK'] !== undefined

/** @returns `all`, or a tenth of it where all quick tests run */
export function thinned(all: number): number {
  return isThinned ? Math.ceil(all / 10) : all
}
