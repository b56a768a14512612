// Writes the JavaScript of dist: a file for each entry of package.json, two for the `weir` command (the second one runs in the programs that
// it starts), one for what they all share, one for the part of that which browsers load, and more for what is imported later.
//
// Node needs longer to find and link a hundred small modules than to run them (decisions/011-bundled-dist.md).
import { readFileSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'

import { build } from 'rolldown'

const { exports, bin } = JSON.parse(readFileSync('package.json', 'utf8'))
const modules = Object.values(exports).flatMap((entry) => entry.default ?? [])
const entries = [...modules, ...Object.values(bin), 'dist/cli/preload.js'].map((file) =>
  file.replace(/^(?:\.\/)?dist\//, '').replace(/\.js$/, ''),
)

/**
 * With a single non-ASCII character, V8 decodes the file the slow way and stores two bytes for each of its characters. In strings,
 * templates and expressions an escape means the same.
 */
function generateBundle(_options, bundle) {
  for (const chunk of Object.values(bundle)) {
    if (chunk.type !== 'chunk') continue
    // After a backslash, and in raw templates, an escape would mean something else.
    if (/\\[^\0-\x7f]|String\.raw/.test(chunk.code)) throw new Error(`${chunk.fileName}: cannot be written in ASCII`)
    chunk.code = chunk.code.replace(/[^\0-\x7f]/g, escaped)
  }
}

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * The modules that an entry imports when it is loaded. What only the modules of `weir` or its command need stays out of the shared file, and
 * what browsers load of it has a file of its own, so that no bundler for browsers sees the rest.
 */
const loaded = new Map()

function loadedBy(entry, context) {
  const known = loaded.get(entry)
  if (known !== undefined) return known
  const ids = new Set()
  const waiting = [resolve(`src/${entry}.ts`)]
  for (const id of waiting) {
    if (ids.has(id)) continue
    ids.add(id)
    waiting.push(...(context.getModuleInfo(id)?.importedIds ?? []).filter((one) => isAbsolute(one)))
  }
  loaded.set(entry, ids)
  return ids
}

const isShared = (id, context) => loadedBy('index', context).has(id)
const isInBrowsers = (id, context) => isShared(id, context) && loadedBy('modules/client/index', context).has(id)

await build({
  input: Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`])),
  platform: 'neutral', // 'node' would import node:module for a require that is never called
  external: (name) => !/^[./]/.test(name),
  checks: { ineffectiveDynamicImport: false }, // a module that one entry imports late and another immediately is in the shared file
  output: {
    dir: 'dist',
    format: 'esm',
    sourcemap: true,
    sourcemapExcludeSources: true, // src is in the package
    chunkFileNames: 'parts/[name].js',
    minifyInternalExports: false,
    comments: { jsdoc: false }, // they are in the declarations and in src
    plugins: [{ name: 'ascii', generateBundle }],
    codeSplitting: {
      groups: [
        { debugName: 'declarations', name: (id, context) => (isInBrowsers(id, context) ? 'declarations' : null), priority: 1 },
        { debugName: 'core', name: (id, context) => (isShared(id, context) ? 'core' : null) },
        { name: 'masking', test: /[\\/]src[\\/]formats[\\/]masking[\\/]/ },
      ],
    },
  },
})
