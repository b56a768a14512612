// A table of rules compiles only if it has a rule for each option, and none besides.

import { count, duration, flag, func, oneOf } from '../../src/base/option-kinds.ts'
import { rules } from '../../src/base/option-rules.ts'

interface Options {
  readonly wait?: number | `${number}s`
  readonly isOn?: boolean
  readonly mode?: 'a' | 'b'
  readonly hook?: () => void
}

const isOn = flag(false)
const mode = oneOf('a', 'b').or('a')
const hook = func().optional()

export const RULES = rules<Options>('x')({ wait: duration().or('5s'), isOn, mode, hook })
export const settings: {
  readonly wait: number
  readonly isOn: boolean
  readonly mode: 'a' | 'b'
  readonly hook: (() => void) | undefined
} = RULES.read({})

// @ts-expect-error a rule is missing
rules<Options>('x')({ wait: duration().or('5s'), isOn, mode })
// @ts-expect-error there is no such option
rules<Options>('x')({ wait: duration().or('5s'), isOn, mode, hook, other: isOn })
// @ts-expect-error the rule refuses the texts that the interface declares
rules<Options>('x')({ wait: count().or(5), isOn, mode, hook })
// @ts-expect-error the rule is for another kind of value
rules<Options>('x')({ wait: duration().or('5s'), isOn: hook, mode, hook })
// @ts-expect-error the rule refuses a word that the interface declares
rules<Options>('x')({ wait: duration().or('5s'), isOn, mode: oneOf('a').or('a'), hook })
// @ts-expect-error a default that the rule refuses
oneOf('a', 'b').or('c')
// @ts-expect-error the default may be missing
export const text: number = rules<Options>('x')({ wait: duration().optional(), isOn, mode, hook }).read({}).wait
