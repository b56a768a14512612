// Runs the compiled tests under node's test runner. Names the files itself, because `node --test` reads globs only from Node 21 on.
//
//   node scripts/test.mjs                                    all tests, the unit tests in one process
//   node scripts/test.mjs routing wire                       the files whose path contains one of the words
//   node scripts/test.mjs routing --test-name-pattern=clash  options go to the runner
//   node scripts/test.mjs --one-process --within=/src/  all files in one process: much faster, for tests that share nothing;
//                                                       words select among those within a folder
//   node scripts/test.mjs --gathered weirjs/            as all tests are run: folders whose tests share nothing in one process each
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

import { linkCompiled } from './packages.mjs'

process.chdir(join(import.meta.dirname, '..'))
linkCompiled()

/** Options of the runner whose value may be the next argument. */
const VALUED = /^--test-(?:concurrency|name-pattern|reporter|reporter-destination|shard|skip-pattern|timeout)$/

const words = []
const options = []
const given = process.argv.slice(2)
const inOneProcess = given.includes('--one-process')
const within = given.find((one) => one.startsWith('--within='))?.slice('--within='.length) ?? ''
for (let i = 0; i < given.length; i++) {
  const argument = given[i]
  if (argument === '--one-process' || argument === '--gathered' || argument.startsWith('--within=')) continue
  if (VALUED.test(argument) && i + 1 < given.length) options.push(`${argument}=${given[++i]}`)
  else if (argument.startsWith('-')) options.push(argument)
  else words.push(argument)
}

/** Compiled files whose source has been renamed or removed since are skipped. */
const hasSource = (file) => existsSync(file.replace(/^build\/(.*)\.js$/, '$1.ts'))
const files = ['build/packages', 'build/test']
  .filter((root) => existsSync(root))
  .flatMap((root) => readdirSync(root, { recursive: true }).map((file) => `${root}/${file.replaceAll('\\', '/')}`))
  .filter(
    (file) =>
      file.endsWith('.test.js') &&
      file.includes(within) &&
      (words.length === 0 || words.some((word) => file.includes(word))) &&
      hasSource(file),
  )
  .sort()

// Without a file, the runner would look for tests itself, and run everything that it finds.
if (files.length === 0)
  throw new Error(`no compiled test ${words.length === 0 ? 'found' : `has ${words.join(' or ')} in its path`}: run npm run compile`)

/**
 * Writes a test that runs others in its process, one after the other, and fails for one that cannot be imported. Node's own
 * `--test-isolation=none` exists only from Node 22 on, and is for all files or none.
 */
function asOneFile(files, name) {
  const lines = files.map((file) => `await load('./${file.slice('build/'.length)}')`)
  const load = `const load = (file) => import(file).catch((error) => void test(\`imports \${file}\`, () => Promise.reject(error)))`
  const path = `build/one-process-${name}.test.js`
  writeFileSync(path, ["import { test } from 'node:test'", '', load, '', ...lines, ''].join('\n'))
  return path
}

/** Tests in these folders share nothing, so each folder takes one process: a process for each file would double their CPU time. */
const TOGETHER = [
  'src',
  ...['body', 'conformance', 'explain', 'http2', 'observers', 'program-errors', 'properties', 'routing', 'server'].map(
    (name) => `test/${name}`,
  ),
].map((folder) => `packages/weirjs/${folder}`)

/** The folders of `TOGETHER` as one file each, the others as they are. */
function gathered() {
  const folderOf = (file) => TOGETHER.find((folder) => file.startsWith(`build/${folder}/`))
  const together = TOGETHER.map((folder) =>
    asOneFile(
      files.filter((file) => folderOf(file) === folder),
      folder.replaceAll('/', '-'),
    ),
  )
  return [...together, ...files.filter((file) => folderOf(file) === undefined)]
}

// The runner itself would leave a core to itself, though it needs hardly any time.
const runner = ['--test', '--test-timeout=300000', `--test-concurrency=${availableParallelism()}`, ...options]
let command = [...runner, ...files]
if (inOneProcess) command = [...options, asOneFile(files, 'all')]
else if (words.length === 0 || given.includes('--gathered')) command = [...runner, ...gathered()]
/** Costly matrices are thinned when all tests run, and complete when their file is named. */
const env = words.length === 0 ? { ...process.env, WEIR_TEST_ALL: '1' } : process.env
const run = spawnSync(process.execPath, ['--enable-source-maps', ...command], { env, stdio: 'inherit' })
process.exitCode = run.status ?? 1
