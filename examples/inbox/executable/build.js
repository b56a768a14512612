// Makes the executable, with Node 26: node examples/inbox/executable/build.js [path of the executable]

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { rolldown } from 'rolldown'

const output = resolve(process.argv[2] ?? (process.platform === 'win32' ? 'inbox.exe' : 'inbox'))
const here = import.meta.dirname
const site = join(here, '../site')
const folder = mkdtempSync(join(tmpdir(), 'inbox-'))
try {
  const bundle = join(folder, 'main.js')
  // Without the paths of the repository's tsconfig.json, which lead to the sources of weir.
  const modules = await rolldown({ input: join(here, 'main.js'), platform: 'node', tsconfig: false })
  const shape = { format: 'cjs', codeSplitting: false, minify: true, postBanner: '(function (require, __filename) {', postFooter: '})' }
  await modules.write({ file: bundle, ...shape })
  await modules.close()
  const code = join(folder, 'code')
  node(join(here, 'compile.js'), bundle, code)
  const assets = Object.fromEntries(readdirSync(site).map((name) => [`site/${name}`, join(site, name)]))
  Object.assign(assets, { 'main.js': bundle, code })
  const settings = join(folder, 'sea.json')
  writeFileSync(settings, JSON.stringify({ main: join(here, 'start.cjs'), output, assets, disableExperimentalSEAWarning: true }))
  node('--build-sea', settings)
} finally {
  rmSync(folder, { recursive: true })
}

function node(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: join(here, '../../..'), stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${args[0]} failed`)
}
