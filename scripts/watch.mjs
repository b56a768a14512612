// Compiles and runs tests again after every change: `node scripts/watch.mjs routing --test-name-pattern=clash` passes its arguments to
// scripts/test.mjs; without arguments it runs the unit tests.
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { watch } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

const given = process.argv.slice(2)
const commands = [
  ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'],
  ['scripts/test.mjs', ...(given.length === 0 ? ['--one-process', '--within=/src/'] : given)],
]

const tree = new EventEmitter()
let changes = 0
for (const folder of ['packages', 'test', 'examples']) {
  watch(folder, { recursive: true }, () => {
    changes++
    tree.emit('change')
  })
}

for (;;) {
  const seen = changes
  for (const command of commands) {
    const [code] = await once(spawn(process.execPath, command, { stdio: 'inherit' }), 'exit')
    if (code !== 0) break
  }
  console.log('Waiting for a change. Ctrl+C ends it.')
  if (changes === seen) await once(tree, 'change')
  await wait(100) // an editor that saves several files is done by then
}
