// Decorators come in two kinds, and a compiler makes one of them. weir's are those of the standard.

/** For whoever finds out only now: the compiler has said so too, but not everybody asks it. */
export const LEGACY_DECORATORS =
  'the compiler makes legacy decorators: turn off experimentalDecorators (tsconfig.json), or use a static table'

/** Whether a decorator was given what the standard gives: legacy ones get a name, or nothing. */
export function isStandardContext(context: unknown): boolean {
  return typeof context === 'object' && context !== null && 'kind' in context
}
