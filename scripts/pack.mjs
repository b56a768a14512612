// Packs every package into packed/, and writes the checksums of the tarballs there: `npm run pack`.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

import { packageNames } from './packages.mjs'

const FOLDER = 'packed'

rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER)
const packages = packageNames().map((name) => `./packages/${name}`)
const { status } = spawnSync('npm', ['pack', '--silent', '--pack-destination', FOLDER, ...packages], {
  stdio: ['ignore', 'ignore', 'inherit'],
})
if (status !== 0) process.exit(status ?? 1)
const sums = readdirSync(FOLDER).map(
  (file) =>
    `${createHash('sha256')
      .update(readFileSync(`${FOLDER}/${file}`))
      .digest('hex')}  ${file}\n`,
)
writeFileSync(`${FOLDER}/SHA256SUMS`, sums.join(''))
process.stdout.write(`${sums.join('')}${sums.length} packages are in ${FOLDER}/\n`)
