// How much memory something keeps.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function usedBytes(): number {
  for (let i = 0; i < 3; i++) collect() // some memory is only released by a later one
  const { heapUsed, external } = process.memoryUsage() // `external` contains `arrayBuffers`
  return heapUsed + external
}

/** @returns how much more memory is in use after `act` */
export async function growthOf(act: () => unknown): Promise<number> {
  const before = usedBytes()
  await act()
  return usedBytes() - before
}
