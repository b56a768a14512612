// Runs the compiled tests under node's test runner. Names the files itself, because `node --test` reads globs only from Node 21 on.
// `node scripts/test.mjs routing wire` runs the files whose path contains one of the words.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

const words = process.argv.slice(2)
const files = ['build/src', 'build/test']
  .flatMap((root) => readdirSync(root, { recursive: true }).map((file) => `${root}/${file}`))
  .filter((file) => file.endsWith('.test.js') && (words.length === 0 || words.some((word) => file.includes(word))))
  .sort()

// Without a file the runner would look for tests itself, and run all that it finds.
if (files.length === 0)
  throw new Error(
    `no compiled test ${words.length === 0 ? 'is there' : `has ${words.join(' or ')} in its path`}; npm run compile makes them`,
  )

const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', '--test-timeout=300000', ...files], { stdio: 'inherit' })
process.exitCode = run.status ?? 1
