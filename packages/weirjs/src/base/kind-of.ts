// Names what a value is, for error messages.

/** The kind of a value: `a string`, `a function`, `null`, `an array`, `a RegExp`, `a Generator`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return withArticle(typeof value)
  if (Array.isArray(value)) return 'an array'
  const maker: unknown = value.constructor
  if (typeof maker === 'function' && maker !== Object && maker.name !== '') return withArticle(maker.name)
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1)
  return withArticle(tag === 'Object' ? 'object' : tag)
}

/** The value itself if it is short, such as `404` or `the string "404"`; its kind otherwise. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `the string ${JSON.stringify(value)}`
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value)
}

function withArticle(noun: string): string {
  return `${/^(?:[aeio]|http|sse)/i.test(noun) ? 'an' : 'a'} ${noun}`
}
