// What every entry of the packages exports, as its declarations in dist/ have it: after `npm run build`, `node scripts/api.mjs --write` writes a
// file for each into api/. Without `--write`, it prints which of them differ. So a change of the public API is visible in its commit, and does not
// happen by mistake.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { entries, exportsOf } from './declared.mjs'

const FOLDER = 'api'

/** The text of each report, by the name of its file. */
function reports() {
  return new Map(entries().map(({ name, file }) => [`${name.replace('@', '').replaceAll('/', '-')}.txt`, reportOf(name, file)]))
}

function reportOf(name, file) {
  const found = exportsOf(file)
  if (found.length === 0) throw new Error(`${name} has no declarations: run npm run build`)
  return `${name}: ${found.length} names\n\n${found.map(textOf).join('\n')}\n`
}

/** All declarations of a name without comments. */
function textOf({ name, as, within, declarations }) {
  if (within !== undefined) return `namespace ${name} {\n${within.map(textOf).join('\n')}\n}`
  // The bundler numbers names that several files have.
  const texts = declarations.map(({ text }) => text.replace(/^\s*\/\*[\s\S]*?\*\/\n/gm, '').replace(/\b(\w+)\$\d+\b/g, '$1'))
  return `${as === undefined ? '' : `${name} is `}${texts.join('\n')}`
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
