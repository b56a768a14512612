// What `option` of weirjs/kit has: the kinds of values that options accept, and the types of rules.

export {
  alias,
  anything,
  count,
  duration,
  flag,
  forTests,
  func,
  hasFunction,
  having,
  list,
  listener,
  listOf,
  matching,
  nested,
  object,
  oneOf,
  oneOfOr,
  type Range,
  rate,
  readBy,
  secret,
  size,
  type TimeRange,
  text,
  texts,
  tokens,
} from '../../base/option-kinds.ts'
export type { Alias, AnyRules, OptionRules, Place, Rule, RulesOf, Same, SettingsOf } from '../../base/option-rules.ts'
export type { Size } from '../../base/size.ts'
