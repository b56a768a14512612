// A type in a public signature can be named by users: an entry of the package also exports what declarations mention.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { test } from 'node:test'

interface Declaration {
  /** The path of the file that declares it. */
  readonly path: string
  readonly name: string
  /** Whether the file exports it. One that it does not export is only a notation for a type inside the file. */
  readonly isExported: boolean
  readonly text: string
}

/** Where the build leaves the declarations of each source file, before it rolls them up. */
const DECLARED = 'declarations/packages/weirjs/src'

const { exports: entries } = JSON.parse(readFileSync('packages/weirjs/package.json', 'utf8')) as {
  exports: Record<string, string | { types: string }>
}
const entryPaths = Object.values(entries).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.types.replace('./dist', DECLARED)]))

/** Declarations as tsc writes them: each begins at the start of a line, and nothing else does. */
const files = new Map(
  readdirSync(DECLARED, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.d.ts'))
    .map((path) => posix.join(DECLARED, path.replaceAll('\\', '/')))
    .map((path) => [path, readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')] as const),
)

const resolve = (from: string, to: string): string => posix.join(posix.dirname(from), to.replace(/\.ts$/, '.d.ts'))

/** Names that a file imports from others, or re-exports: under which name, and from which file. */
function linksOf(path: string, keyword: 'import' | 'export'): Map<string, string> {
  const links = new Map<string, string>()
  const clauses = files.get(path)!.matchAll(new RegExp(`^${keyword} (?:type )?\\{([^}]*)\\} from '([^']+)'`, 'gm'))
  for (const [, names, from] of clauses) {
    if (!from!.startsWith('.')) continue
    for (const part of names!.split(',')) {
      const [theirs, ours = theirs] = part
        .trim()
        .replace(/^type /, '')
        .split(' as ')
      if (theirs) links.set(ours!, `${resolve(path, from!)} ${theirs}`)
    }
  }
  return links
}

function declarationsOf(path: string): Declaration[] {
  const starts = [
    ...files.get(path)!.matchAll(/^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|function|const|let) (\w+)/gm),
  ]
  const text = files.get(path)!
  return starts.map((start, i) => ({
    path,
    name: start[1]!,
    isExported: start[0].startsWith('export'),
    text: text.slice(start.index, starts[i + 1]?.index),
  }))
}

const declarations = [...files.keys()].flatMap(declarationsOf)
const keyOf = ({ path, name }: Declaration): string => `${path} ${name}`
const known = new Set(declarations.filter(({ isExported }) => isExported).map(keyOf))

const exported = new Set<string>()
for (const path of entryPaths) {
  for (const key of linksOf(path, 'export').values()) exported.add(key)
  // A namespace, such as `rule` of weirjs/kit.
  for (const [, from] of files.get(path)!.matchAll(/^export \* as \w+ from '([^']+)'/gm))
    for (const key of linksOf(resolve(path, from!), 'export').values()) exported.add(key)
  for (const [, name] of files.get(path)!.matchAll(/^export (?:declare )?(?:abstract )?(?:class|interface|type|function|const) (\w+)/gm))
    exported.add(`${path} ${name}`)
}

/** The types of the library that a declaration mentions. */
function mentionedBy({ path, name, text }: Declaration): string[] {
  const imports = linksOf(path, 'import')
  const words = text.replace(/'[^']*'|"[^"]*"|`[^`]*`|\btypeof \w+/g, '').match(/(?<![.\w#])[A-Za-z_]\w*(?!\w*\??:)/g) ?? []
  return [...new Set(words)]
    .filter((word) => word !== name)
    .map((word) => imports.get(word) ?? `${path} ${word}`)
    .filter((key) => known.has(key))
}

test('types that public declarations mention are exported by an entry', () => {
  assert.ok(exported.size > 100 && declarations.length > exported.size, 'the declarations are read')
  const unnamed = declarations
    .filter((declaration) => exported.has(keyOf(declaration)))
    .flatMap((declaration) => mentionedBy(declaration).map((key) => [key, declaration.name] as const))
    .filter(([key]) => !exported.has(key))
    .map(([key, by]) => `${key}, in ${by}`)
  assert.deepEqual([...new Set(unnamed)].sort(), [])
})
