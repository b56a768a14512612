// How many promises settle in one turn of the event loop.

/** At most, between two turns. Failures count, too. */
export async function mostInATurn(all: readonly Promise<unknown>[]): Promise<number> {
  let settled = 0
  let most = 0
  const count = (): void => void settled++
  for (const one of all) one.then(count, count)
  for (let before = 0; settled < all.length; before = settled) {
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, settled - before)
  }
  return most
}
