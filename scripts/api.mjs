// What every entry of the packages exports, as it is declared: `node scripts/api.mjs --write` writes a file for each into api/. Without `--write`,
// it prints which of them differ. So a change of the public API is visible in its commit, and does not happen by mistake.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

import { manifestOf, packageNames } from './packages.mjs'

const FOLDER = 'api'
const DECLARATIONS = 'build/api'
const STATEMENT = /^(?=(?:export|declare|interface|type|class|abstract|const|function|import)\b)/m
const NAMED = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|const|function|namespace) (\w+)/

/** The text of each report, by the name of its file. */
function reports() {
  const args = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', DECLARATIONS]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  return new Map(packageNames().flatMap((folder) => reportsOf(folder)))
}

function reportsOf(folder) {
  const { name, exports } = manifestOf(folder)
  return Object.entries(exports).flatMap(([path, entry]) => {
    if (typeof entry !== 'object') return []
    const file = `${DECLARATIONS}/packages/${folder}/${entry.types.replace('./dist/', 'src/')}`
    const found = [...exportsOf(file)].sort(([a], [b]) => (a < b ? -1 : 1))
    const title = `${name}${path.slice(1)}: ${found.length} names`
    return [
      [
        `${`${name}${path.slice(1)}`.replace('@', '').replaceAll('/', '-')}.txt`,
        `${title}\n\n${found.map(([, text]) => text).join('\n')}\n`,
      ],
    ]
  })
}

/** The declarations of what a file exports, by name. */
function exportsOf(file) {
  const found = new Map()
  for (const statement of statementsOf(file)) {
    const list = /^export (?:type )?\{([\s\S]*)\}(?: from '(.+)')?;?\s*$/.exec(statement)
    const all = /^export \* (?:as (\w+) )?from '(.+)'/.exec(statement)
    if (list !== null) {
      for (const item of list[1].split(',')) {
        const [, name, as] = /^\s*(?:type )?(\w+)(?: as (\w+))?\s*$/.exec(item) ?? []
        if (name !== undefined)
          found.set(
            as ?? name,
            `${as === undefined ? '' : `${as} is `}${declarationOf(list[2] === undefined ? file : at(file, list[2]), name)}`,
          )
      }
    } else if (all !== null && all[1] !== undefined)
      found.set(all[1], `namespace ${all[1]} {\n${[...exportsOf(at(file, all[2])).values()].join('\n')}\n}`)
    else if (all !== null) for (const [name, text] of exportsOf(at(file, all[2]))) found.set(name, text)
    else if (statement.startsWith('export ')) {
      const name = NAMED.exec(statement)?.[1]
      if (name !== undefined) found.set(name, declarationOf(file, name))
    }
  }
  return found
}

/** All declarations of a name: a function may have several, and a name may be a value and a type. */
function declarationOf(file, name) {
  const own = statementsOf(file).filter((statement) => NAMED.exec(statement)?.[1] === name)
  if (own.length > 0) return own.map((text) => text.replace(/^(?:export |declare )+/, '').trim()).join('\n')
  const passedOn = exportsOf(file).get(name)
  return passedOn ?? `${name} of another package`
}

const known = new Map()

/** The statements of a file, without comments and private members. */
function statementsOf(file) {
  let statements = known.get(file)
  if (statements === undefined) {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const plain = text.replace(/^\s*\/\*[\s\S]*?\*\/\n/gm, '').replace(/^\s*(?:\/\/.*|#private;|private .*)\n/gm, '')
    statements = plain.split(STATEMENT).filter((statement) => statement.trim() !== '')
    known.set(file, statements)
  }
  return statements
}

function at(file, path) {
  return path.startsWith('.') ? normalize(join(dirname(file), path)).replace(/\.(?:ts|js)$/, '.d.ts') : path
}

const found = reports()
if (process.argv.includes('--write')) {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER)
  for (const [file, text] of found) writeFileSync(join(FOLDER, file), text)
} else {
  const present = existsSync(FOLDER) ? readdirSync(FOLDER) : []
  const differing = [...found].filter(([file, text]) => !present.includes(file) || readFileSync(join(FOLDER, file), 'utf8') !== text)
  for (const file of [...differing.map(([name]) => name), ...present.filter((name) => !found.has(name))]) console.log(`${FOLDER}/${file}`)
}
