// The examples in the doc comments of what the main entry exports: an editor shows them beside the name.

import { readFileSync } from 'node:fs'
import { posix } from 'node:path'

export interface ExportExample {
  readonly name: string
  readonly isType: boolean
  /** Null: its doc comment has none. */
  readonly code: string | null
  /** The page of the guide to which its doc comment leads, from the root of the repository. Null: none. */
  readonly page: string | null
}

const SRC = 'packages/weirjs/src'
const PAGE = /^ \* @see https:\/\/github\.com\/weirjs\/weir\/blob\/main\/(docs\/[\w/-]+\.md)$/m

/** One for each name, in the order of the entry. */
export function exportExamples(): ExportExample[] {
  const entry = readFileSync(`${SRC}/index.ts`, 'utf8')
  const exported = [...entry.matchAll(/^export (type )?\{([^}]*)\} from '([^']*)'$/gm)].flatMap(([, type, names, file]) =>
    names!
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => {
        return { name: name.replace(/^type /, ''), isType: type !== undefined || name.startsWith('type '), file: posix.join(SRC, file!) }
      }),
  )
  return exported.map(({ name, isType, file }) => {
    const comment = commentOf(name, readFileSync(file, 'utf8'))
    return { name, isType, code: exampleIn(comment), page: PAGE.exec(comment)?.[1] ?? null }
  })
}

/** The comment above its first declaration. */
function commentOf(name: string, source: string): string {
  const kinds = 'abstract class|class|function|const|interface|type'
  return new RegExp(`^/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n(?://.*\\n)?export (?:${kinds}) ${name}\\b`, 'm').exec(source)?.[1] ?? ''
}

/** In a fence if it has decorators, which an editor would take for tags. */
function exampleIn(comment: string): string | null {
  const lines = /^ \* @example\n((?: \* (?!@see ).*\n)+)/m.exec(comment)?.[1]
  return lines?.replace(/^ \* /gm, '').replace(/^```(?:ts)?\n/gm, '') ?? null
}

/** A program around the example: what a page about it would have declared before. */
export function programOf({ code }: ExportExample, all: readonly ExportExample[]): string {
  const names = all.map(({ name, isType }) => (isType ? `type ${name}` : name))
  return `import { createWriteStream, readFileSync } from 'node:fs'
import { ${names.join(', ')} } from 'weirjs'
import { contract, get } from 'weirjs/client'
import { sse } from 'weirjs/sse'

declare const server: HttpServer
declare const request: HttpRequest
declare const response: HttpResponse
declare const error: unknown
declare function find(limit: number): { id: number }[]
declare function prices(): AsyncIterable<{ data: { cents: number } }>

export async function example(): Promise<unknown> {
${code}
  return undefined
}
`
}
