// Builds the packages: `node scripts/build.mjs` all of them, `node scripts/build.mjs weirjs jwt` those. Each gets a `dist/` with a file of
// JavaScript and one of declarations for each entry of its package.json, and files for what several entries share.
//
// Node needs longer to find and link a hundred small modules than to run them (decisions/011-bundled-dist.md), and rolled-up declarations
// name nothing that is internal.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { isAbsolute, posix, resolve } from 'node:path'

import { build } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

import { packageNames } from './packages.mjs'

/** Where tsc writes the declarations that are rolled up. */
const DECLARATIONS = 'declarations'

/**
 * A compiler that writes the declarations of a program names a type only by a file that it has read. So the entries that make schemas,
 * declarations and explanations mention those that have the names.
 */
const NAMED_IN = {
  'index.d.ts': ['modules/contract/index.js', 'modules/explain/index.js', 'modules/schema/index.js'],
  'modules/client/index.d.ts': ['modules/contract/index.js', 'modules/schema/index.js'],
  'modules/limits/index.d.ts': ['modules/kit/index.js'],
  'modules/log/index.d.ts': ['modules/metrics/index.js'],
  'modules/sessions/index.d.ts': ['modules/auth/index.js', 'modules/csrf/index.js'],
}

/** What `start` of a server imports. */
const ENGINE = ['net/listen/entrance', 'net/listen/listener', 'net/listen/plain-server', 'net/http1/connection']
/** What the first multipart form imports. */
const FORMS = 'http/uploads/forms'

const given = process.argv.slice(2)
rmSync(DECLARATIONS, { recursive: true, force: true })
const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
for (const name of given.length > 0 ? given : packageNames()) await buildPackage(`packages/${name}`)

async function buildPackage(folder) {
  const { exports, bin = {} } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const entriesOf = (files) => files.map((file) => file.replace(/^(?:\.\/)?dist\//, '').replace(/(?:\.d\.ts|\.js)$/, ''))
  const entries = entriesOf(Object.values(exports).flatMap((entry) => entry.default ?? []))
  // The command loads a second file into the programs that it starts.
  const preload = existsSync(`${folder}/src/cli/preload.ts`) ? ['cli/preload'] : []
  const programs = [...entries, ...entriesOf(Object.values(bin)), ...preload]
  rmSync(`${folder}/dist`, { recursive: true, force: true })
  await build({
    input: Object.fromEntries(programs.map((entry) => [entry, `${folder}/src/${entry}.ts`])),
    platform: 'neutral', // 'node' would import node:module for a require that is never called
    external,
    checks: { ineffectiveDynamicImport: false }, // a module that one entry imports late and another immediately is in the shared file
    output: {
      dir: `${folder}/dist`,
      format: 'esm',
      chunkFileNames: 'parts/[name].js',
      minifyInternalExports: false,
      comments: { jsdoc: false }, // they are in the declarations
      plugins: [{ name: 'ascii', generateBundle }],
      codeSplitting: { groups: groupsOf(folder) },
    },
  })
  if (entries.length === 0) return // a command, which nobody imports
  await build({
    input: Object.fromEntries(entries.map((entry) => [`${entry}.d`, `${DECLARATIONS}/${folder}/src/${entry}.d.ts`])),
    external,
    plugins: [dts({ dtsInput: true, emitDtsOnly: true, generator: 'oxc' })],
    output: {
      dir: `${folder}/dist`,
      format: 'esm',
      chunkFileNames: 'types/[name].d.ts',
      plugins: [{ name: 'finish', generateBundle: finishDeclarations }],
    },
  })
}

/** Other packages, and what Node has. */
function external(name) {
  return !/^[./]/.test(name)
}

/**
 * With a single non-ASCII character, V8 decodes the file the slow way and stores two bytes for each of its characters. In strings,
 * templates and expressions an escape means the same.
 */
function generateBundle(_options, bundle) {
  for (const chunk of Object.values(bundle)) {
    if (chunk.type !== 'chunk') continue
    // After a backslash, and in raw templates, an escape would mean something else.
    if (/\\[^\0-\x7f]|String\.raw/.test(chunk.code)) throw new Error(`${chunk.fileName}: cannot be written in ASCII`)
    // The bundler names the file above what comes from it: 25 kB that no program needs.
    const code = chunk.code.replace(/^\/\/ packages\/[^\n]*\.ts\n/gm, '')
    // What runs in a function or for a field of an object can never be left out, so that marks there are for nobody.
    const marked = code.replace(/^\t+(?:#?[\w$]+ = |this\.|const |let |return |throw |if |for )[^\n]*/gm, (line) =>
      line.replaceAll('/* @__PURE__ */ ', ''),
    )
    // Its indentation would be 8 % of the package. No text in the source begins a line with a tab.
    chunk.code = asAscii(marked.replace(/^\t+/gm, ''))
  }
}

function asAscii(code) {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * The bundler writes the path of each file above its declarations, which depends on the machine. And a project for browsers, which has no
 * types of Node, can check the declarations of `weirjs/client`: what it cannot find there is none of its business. Before TypeScript 5.7,
 * arrays of bytes have no parameter.
 */
function finishDeclarations(_options, bundle) {
  const isMain = 'modules/kit/index.d.ts' in bundle // of weirjs, whose entries have these names
  for (const [name, chunk] of Object.entries(bundle)) {
    if (chunk.type !== 'chunk') continue
    if (/^export \{ __exportAll as \w+ \};\s*$/.test(chunk.code)) delete bundle[name] // for namespaces, which need nothing as types
    const code = chunk.code.replace(/^\/\/(?:[^\n]*\.d\.ts|#(?:end)?region[^\n]*)\n/gm, '').replace(/^[\t ]+(?=\S)(?!\*)/gm, '')
    const seen = ((isMain && NAMED_IN[name]) || []).map(
      (entry) => `import type {} from "./${posix.relative(posix.dirname(name), entry)}";\n`,
    )
    chunk.code =
      seen.join('').replace(/"\.\/\.\.\//g, '"../') +
      code.replace(/^(?=import [^\n]* from ["']node:)/gm, '// @ts-ignore\n').replace(/\b(Uint8Array|Buffer)<ArrayBuffer(?:Like)?>/g, '$1')
  }
}

/**
 * What several entries share is in five files of `weirjs`: what its main entry loads, the part of that which browsers load too, so that
 * no bundler for browsers sees the rest, what a server loads when it starts, what reads forms, and the search for secrets.
 */
function groupsOf(folder) {
  const root = resolve(folder, 'src')
  const loaded = new Map()
  function loadedBy(entry, context) {
    const known = loaded.get(entry)
    if (known !== undefined) return known
    const ids = new Set()
    const waiting = [`${root}/${entry}.ts`]
    for (const id of waiting) {
      if (ids.has(id)) continue
      ids.add(id)
      waiting.push(...(context.getModuleInfo(id)?.importedIds ?? []).filter((one) => isAbsolute(one)))
    }
    loaded.set(entry, ids)
    return ids
  }
  if (!existsSync(`${root}/modules/client`)) return []
  const isShared = (id, context) => loadedBy('index', context).has(id)
  const isInEngine = (id, context) =>
    ENGINE.some((entry) => loadedBy(entry, context).has(id)) && !loadedBy('modules/client/index', context).has(id)
  const isInBrowsers = (id, context) => isShared(id, context) && loadedBy('modules/client/index', context).has(id)
  return [
    { debugName: 'declarations', name: (id, context) => (isInBrowsers(id, context) ? 'declarations' : null), priority: 1 },
    { debugName: 'core', name: (id, context) => (isShared(id, context) ? 'core' : null) },
    { debugName: 'engine', name: (id, context) => (isInEngine(id, context) && !isShared(id, context) ? 'engine' : null) },
    { debugName: 'forms', name: (id, context) => (loadedBy(FORMS, context).has(id) && !isShared(id, context) ? 'forms' : null) },
    { name: 'masking', test: /[\\/]src[\\/]formats[\\/]masking[\\/]/ },
  ]
}
