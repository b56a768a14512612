// The templates of routes as paths of OpenAPI.

/** A template, as OpenAPI writes it. */
export interface DocumentPath {
  /** `/users/{id}`. */
  readonly text: string
  /** Equal for templates that OpenAPI considers identical: those that differ only in the names of their parameters. */
  readonly key: string
  /** The names of the parameters, in order. */
  readonly names: readonly string[]
  /** The name of the rest `*path`, which may contain slashes; null without one. */
  readonly rest: string | null
}

/** @param template a valid one, such as `/users/:id` or `/files/*path` */
export function documentPath(template: string): DocumentPath {
  const names: string[] = []
  let rest: string | null = null
  const text = template
    .slice(1)
    .split('/')
    .map((segment) => {
      if (!segment.startsWith(':') && !segment.startsWith('*')) return encoded(segment)
      const name = segment.replace(/^(?::|\*\*?)/, '')
      names.push(name)
      if (segment.startsWith('*')) rest = name
      return `{${name}}`
    })
    .map((segment) => `/${segment}`)
    .join('')
  return { text, key: text.replace(/\{[^{}]*\}/g, '{}'), names, rest }
}

/** As in a URL. Braces are encoded too, so that they do not look like parameters; a backslash, so that it does not separate segments. */
function encoded(segment: string): string {
  return new URL(`http://host/${segment.replaceAll('\\', '%5C')}`).pathname.slice(1)
}

/** The address of `to` for a page at `from`, both absolute paths of one server. It stays right behind a proxy that adds a prefix. */
export function relativePath(from: string, to: string): string {
  return `./${'../'.repeat(from.split('/').length - 2)}${to.slice(1)}`
}
