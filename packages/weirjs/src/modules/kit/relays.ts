// What relays share, whatever service they use: the option `once` of `publish`, and the options of `subscribe`.

export { ONCE_MS, onceName, onceOf } from '../relay/publish-once.ts'
export { BEFORE_FIRST, SUBSCRIBE_RULES } from '../relay/relay-option.ts'
