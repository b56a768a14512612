// What every entry of the packages exports, as it is declared: `node scripts/api.mjs --write` writes a file for each into api/. Without `--write`,
// it prints which of them differ. So a change of the public API is visible in its commit, and does not happen by mistake.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { entries, exportsOf } from './declared.mjs'

const FOLDER = 'api'
const DECLARATIONS = 'build/api'

/** The text of each report, by the name of its file. */
function reports() {
  const args = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', DECLARATIONS]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  return new Map(entries(DECLARATIONS).map(({ name, file }) => [`${name.replace('@', '').replaceAll('/', '-')}.txt`, reportOf(name, file)]))
}

function reportOf(name, file) {
  const found = exportsOf(file)
  return `${name}: ${found.length} names\n\n${found.map(textOf).join('\n')}\n`
}

/** All declarations of a name without comments. */
function textOf({ name, as, within, declarations }) {
  if (within !== undefined) return `namespace ${name} {\n${within.map(textOf).join('\n')}\n}`
  const texts = declarations.map(({ text }) => text.replace(/^\s*\/\*[\s\S]*?\*\/\n/gm, ''))
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
