// The lists of option names are complete. Only tsc runs this file.

import { namesOf } from '../../src/base/options.ts'

interface Options {
  readonly first?: string
  readonly second?: number
}

const names: readonly ['first', 'second'] = namesOf<Options>()(['first', 'second'])
namesOf<Options>()(['second', 'first'])
// @ts-expect-error "second" is missing
namesOf<Options>()(['first'])
// @ts-expect-error there is no "third"
namesOf<Options>()(['first', 'second', 'third'])
// @ts-expect-error all are missing
namesOf<Options>()([])
export default names
