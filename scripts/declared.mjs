// What the entries of the packages export, read from the declarations that tsc writes: one file for each source file.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

import { manifestOf, packageNames } from './packages.mjs'

const STATEMENT = /^(?=(?:export|declare|interface|type|class|abstract|const|function|import)\b)/m
const NAMED = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|const|function|namespace) (\w+)/
/** A doc comment at the end of a statement: that of the next one. */
const COMMENT = /(?:^|\n)(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\s*$/

/** Every entry of every package: its name, such as `weirjs/cors`, and the file that declares it below `folder`. */
export function entries(folder) {
  return packageNames().flatMap((one) => {
    const { name, exports } = manifestOf(one)
    return Object.entries(exports)
      .filter(([, entry]) => typeof entry === 'object')
      .map(([path, entry]) => ({
        name: `${name}${path.slice(1)}`,
        file: `${folder}/packages/${one}/${entry.types.replace('./dist/', 'src/')}`,
      }))
  })
}

/** What a file exports, sorted by name: for each name its declarations, of which a function may have several. */
export function exportsOf(file) {
  return named(exportedBy(file)).sort((a, b) => (a.name < b.name ? -1 : 1))
}

function named(found) {
  return [...found].map(([name, one]) => ({ name, ...one }))
}

/** `as` is the own name of what is exported under another one; `within` has what a namespace exports. */
function exportedBy(file) {
  const found = new Map()
  for (const { text } of statementsOf(file)) {
    const list = /^export (?:type )?\{([\s\S]*)\}(?: from '(.+)')?;?\s*$/.exec(text)
    const all = /^export \* (?:as (\w+) )?from '(.+)'/.exec(text)
    if (list !== null) {
      for (const item of list[1].split(',')) {
        const [, name, as] = /^\s*(?:type )?(\w+)(?: as (\w+))?\s*$/.exec(item) ?? []
        if (name === undefined) continue
        const declared = declarationOf(list[2] === undefined ? file : at(file, list[2]), name)
        found.set(as ?? name, as === undefined ? declared : { ...declared, as: name })
      }
    } else if (all !== null && all[1] !== undefined) found.set(all[1], { declarations: [], within: named(exportedBy(at(file, all[2]))) })
    else if (all !== null) for (const [name, one] of exportedBy(at(file, all[2]))) found.set(name, one)
    else if (text.startsWith('export ')) {
      const name = NAMED.exec(text)?.[1]
      if (name !== undefined) found.set(name, declarationOf(file, name))
    }
  }
  return found
}

function declarationOf(file, name) {
  const declarations = statementsOf(file)
    .filter(({ text }) => NAMED.exec(text)?.[1] === name)
    .map(({ comment, text }) => ({ comment, text: text.replace(/^(?:export |declare )+/, '').trim() }))
  if (declarations.length > 0) return { declarations }
  return exportedBy(file).get(name) ?? { declarations: [{ comment: '', text: `${name} of another package` }] }
}

const known = new Map()

/** The statements of a file with the doc comment above each, without private members. The comments of members stay. */
function statementsOf(file) {
  let statements = known.get(file)
  if (statements === undefined) {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const plain = text.replace(/^(?: *\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)? *(?:#private;|private .*)\n/gm, '').replace(/^\s*\/\/.*\n/gm, '')
    statements = []
    let comment = ''
    for (const part of plain.split(STATEMENT)) {
      if (/^(?:export|declare|interface|type|class|abstract|const|function|import)\b/.test(part))
        statements.push({ comment, text: part.replace(COMMENT, '\n') })
      comment = COMMENT.exec(part)?.[1] ?? ''
    }
    known.set(file, statements)
  }
  return statements
}

function at(file, path) {
  return path.startsWith('.') ? normalize(join(dirname(file), path)).replace(/\.(?:ts|js)$/, '.d.ts') : path
}
