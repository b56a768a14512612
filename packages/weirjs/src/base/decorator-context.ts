// TypeScript compiles decorators in one of two ways, legacy or standard. weir supports the standard ones.

/** The compiler has already reported this, but some programs run in spite of its errors. */
export const LEGACY_DECORATORS =
  'the compiler emits legacy decorators: turn off experimentalDecorators in tsconfig.json, or use a static table'

/** Whether a decorator received the context object of the standard. A legacy decorator receives a name, or nothing. */
export function isStandardContext(context: unknown): boolean {
  return typeof context === 'object' && context !== null && 'kind' in context
}
