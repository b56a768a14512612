// What the entries of the packages export, read from declarations: those that tsc writes, one file for each source file, or those in dist/, which
// are rolled up.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

import { manifestOf, packageNames } from './packages.mjs'

const STATEMENT = /^(?=(?:export|declare|interface|type|class|abstract|const|function|import)\b)/m
const NAMED = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|const|function|namespace) ([\w$]+)/
const INDENTATION = 4
/** A doc comment at the end of a statement: that of the next one. */
const COMMENT = /(?:^|\n)(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\s*$/

/** Every entry of every package: its name, such as `weirjs/cors`, and the file that declares it below `folder`; without it, in dist/. */
export function entries(folder) {
  return packageNames().flatMap((one) => {
    const { name, exports } = manifestOf(one)
    return Object.entries(exports)
      .filter(([, entry]) => typeof entry === 'object')
      .map(([path, entry]) => ({
        name: `${name}${path.slice(1)}`,
        file:
          folder === undefined
            ? `packages/${one}/${entry.types.slice(2)}`
            : `${folder}/packages/${one}/${entry.types.replace('./dist/', 'src/')}`,
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
const exportedBy = remembered((file) => {
  const found = new Map()
  for (const { text } of statementsOf(file)) {
    const list = /^export (?:type )?\{([\s\S]*)\}(?: from ['"](.+)['"])?;?\s*$/.exec(text)
    const all = /^export \* (?:as (\w+) )?from ['"](.+)['"]/.exec(text)
    if (list !== null) {
      for (const { name, as } of itemsOf(list[1])) {
        const declared = list[2] === undefined ? declarationOf(file, name, false) : declarationOf(at(file, list[2]), name)
        // The bundler gives namespaces names of its own, and numbers to names that several files have.
        const isOwn = as === undefined || declared.within !== undefined || plain(name) === as
        found.set(as ?? name, isOwn ? declared : { ...declared, as: name })
      }
    } else if (all !== null && all[1] !== undefined) found.set(all[1], { declarations: [], within: named(exportedBy(at(file, all[2]))) })
    else if (all !== null) for (const [name, one] of exportedBy(at(file, all[2]))) found.set(name, one)
    else if (text.startsWith('export ')) {
      const name = NAMED.exec(text)?.[1]
      if (name !== undefined) found.set(name, declarationOf(file, name))
    }
  }
  return found
})

/** @param isPassedOn whether the file exports it, and may have it from another file */
function declarationOf(file, name, isPassedOn = true) {
  const declarations = statementsOf(file)
    .filter(({ text }) => NAMED.exec(text)?.[1] === name)
    .map(({ comment, text }) => ({ comment, text: text.replace(/^(?:export |declare )+/, '').trim() }))
  const [, members] = /^namespace \w+ \{\s*export \{([\s\S]*)\};?\s*\}/.exec(declarations[0]?.text ?? '') ?? []
  if (members !== undefined) {
    const within = itemsOf(members).map((one) => ({ name: one.as ?? one.name, ...declarationOf(file, one.name, false) }))
    return { declarations: [], within: within.sort((a, b) => (a.name < b.name ? -1 : 1)) }
  }
  if (declarations.length > 0) return { declarations }
  const found = isPassedOn ? exportedBy(file).get(name) : importedBy(file).get(name)
  return found ?? { declarations: [{ comment: '', text: `${name} of another package` }] }
}

/** What a rolled-up file imports from others of its package. They export it under short names, which nobody sees. */
const importedBy = remembered((file) => {
  const found = new Map()
  for (const { text } of statementsOf(file)) {
    const [, list, from] = /^import (?:type )?\{([\s\S]*)\} from ["'](\..+)["']/.exec(text) ?? []
    if (list === undefined) continue
    const exported = exportedBy(at(file, from))
    for (const { name, as } of itemsOf(list)) {
      const one = exported.get(name)
      if (one !== undefined) found.set(as ?? name, { ...one, as: undefined })
    }
  }
  return found
})

function itemsOf(list) {
  const items = list.split(',').map((item) => /^\s*(?:type )?([\w$]+)(?: as ([\w$]+))?\s*$/.exec(item))
  return items.flatMap((item) => (item === null ? [] : [{ name: item[1], as: item[2] }]))
}

function plain(name) {
  return name.replace(/\$\d+$/, '')
}

/** The declarations in dist/ have lost their indentation, which tells members from statements. */
function indented(text) {
  /** For each bracket that is open, how far the lines in it are indented. */
  const open = []
  let isComment = false
  const lines = text.split('\n').map((line) => {
    if (isComment || line.startsWith('/*')) {
      isComment = !line.includes('*/')
      return ' '.repeat(open.at(-1) ?? 0) + line
    }
    const code = line.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, '')
    const own = /^[}\])]/.test(code) ? open.at(-1) - INDENTATION : (open.at(-1) ?? 0)
    for (const [bracket] of code.matchAll(/[{[(}\])]/g)) {
      if ('{[('.includes(bracket)) open.push(own + INDENTATION)
      else open.pop()
    }
    return ' '.repeat(own) + line
  })
  return lines.join('\n')
}

/** The statements of a file with the doc comment above each, without private members. The comments of members stay. */
const statementsOf = remembered((file) => {
  const read = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const text = /[\\/]dist[\\/]/.test(file) ? indented(read) : read
  const plain = text.replace(/^(?: *\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)? *(?:#private;|private .*)\n/gm, '').replace(/^\s*\/\/.*\n/gm, '')
  const statements = []
  let comment = ''
  for (const part of plain.split(STATEMENT)) {
    if (/^(?:export|declare|interface|type|class|abstract|const|function|import)\b/.test(part))
      statements.push({ comment, text: part.replace(COMMENT, '\n') })
    comment = COMMENT.exec(part)?.[1] ?? ''
  }
  return statements
})

/** Entries share files: each is looked at once. */
function remembered(look) {
  const known = new Map()
  return (file) => {
    if (!known.has(file)) known.set(file, look(file))
    return known.get(file)
  }
}

function at(file, path) {
  return path.startsWith('.') ? normalize(join(dirname(file), path)).replace(/\.(?:ts|js)$/, '.d.ts') : path
}
