/** What a value is, for a message that says that something else was expected: `a string`, `a function`, `null`, `an array`, `a RegExp`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return withArticle(typeof value)
  if (Array.isArray(value)) return 'an array'
  const maker: unknown = value.constructor
  return withArticle(typeof maker === 'function' && maker !== Object && maker.name !== '' ? maker.name : 'object')
}

function withArticle(noun: string): string {
  return `${/^[aeio]/i.test(noun) ? 'an' : 'a'} ${noun}`
}
