// For things that must stop happening: with back-pressure, a number stops growing.

import { eventually } from './serving.ts'

/** Waits until a number has not changed for a good while. */
export async function standsStill(value: () => number): Promise<void> {
  let last = value()
  let same = 0
  await eventually(() => {
    same = value() === last ? same + 1 : 0
    last = value()
    return same === 25
  }, 'standing still')
}
