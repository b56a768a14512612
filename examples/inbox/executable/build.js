// Makes the executable, with Node 26: node examples/inbox/executable/build.js [path of the executable]

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { rolldown } from 'rolldown'

const output = resolve(process.argv[2] ?? (process.platform === 'win32' ? 'inbox.exe' : 'inbox'))
const site = join(import.meta.dirname, '../site')
const folder = mkdtempSync(join(tmpdir(), 'inbox-'))
try {
  const main = join(folder, 'main.cjs')
  // Without the paths of the repository's tsconfig.json, which lead to the sources of weir.
  const bundle = await rolldown({ input: join(import.meta.dirname, 'main.js'), platform: 'node', tsconfig: false })
  await bundle.write({ file: main, format: 'cjs', codeSplitting: false, minify: true })
  await bundle.close()
  const assets = Object.fromEntries(readdirSync(site).map((name) => [`site/${name}`, join(site, name)]))
  const settings = join(folder, 'sea.json')
  writeFileSync(settings, JSON.stringify({ main, output, assets, useCodeCache: true, disableExperimentalSEAWarning: true }))
  const { status } = spawnSync(process.execPath, ['--build-sea', settings], { stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true })
}
