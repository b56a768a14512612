// The rooms of packages/weirjs/src/ and the doors between them: checks in every import which file may import which.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'

/** What each room may import in addition to itself. `index.ts` and `server.ts` are rooms with one file. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  wire: ['base'],
  formats: ['base'],
  schema: ['base'],
  model: ['base', 'schema'],
  routing: ['base'],
  http: ['base', 'wire', 'formats', 'schema', 'model'],
  app: ['base', 'formats', 'routing', 'schema', 'http'],
  net: ['base', 'wire', 'formats', 'http'],
  modules: ['base', 'formats', 'schema', 'http', 'app'],
  node: ['base', 'wire', 'formats', 'schema', 'http', 'app', 'net', 'server.ts', 'modules'],
  testing: ['base', 'wire', 'formats', 'http', 'app', 'net', 'server.ts'],
  'server-options.ts': ['base', 'http', 'app', 'net'],
  'server.ts': ['base', 'http', 'app', 'net', 'server-options.ts'],
  'index.ts': ['base', 'wire', 'formats', 'schema', 'model', 'routing', 'http', 'app', 'net', 'server-options.ts', 'server.ts'],
}
/** Places that may import more than their room: a way into the server, such as `weirjs/testing`. */
const MORE_DOORS: Readonly<Record<string, readonly string[]>> = {
  'modules/local/local.ts': ['server.ts'],
  'modules/kit/': ['wire', 'net', 'server.ts'],
  'modules/local/': ['index.ts'],
  'modules/sqlite/': ['index.ts'],
  'modules/websocket/': ['wire'],
}
/**
 * The large rooms, from the lowest floor up. A place is a folder or, if it ends in `.ts`, a file; one inside another is a separate place. A
 * file may import from its own place and from any place on a lower floor. Places on the same floor may not import each other.
 */
const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  // What only HTTP/2 has is below the heads, so that it cannot use code of HTTP/1. Only the head, which has the same rules in both, is
  // above.
  wire: [['http2/errors.ts'], ['http2/frames', 'http2/hpack'], ['head'], ['http1', 'http2', 'websocket']],
  http: [
    ['connection-info.ts', 'route-info.ts', 'json-engine.ts', 'server-timing.ts', 'stop-options.ts', 'work-turns.ts', 'disk'],
    ['bag.ts', 'body', 'response'],
    ['notes.ts'],
    ['multipart'],
    ['uploads'],
    ['request'],
    ['session.ts', 'files'],
    ['exchange.ts'],
    ['application.ts', 'exchange-record.ts'],
  ],
  app: [
    ['debugged.ts', 'repeated-lines.ts'],
    ['documents.ts', 'logger.ts', 'observer.ts', 'reply.ts', 'shutdown-listeners.ts'],
    ['policies'],
    ['routes'],
    ['controllers'],
    ['module-host.ts'],
    ['explain'],
    ['debug'],
    ['error-hints.ts', 'response-mistakes.ts'],
    ['dispatch.ts', 'group.ts'],
  ],
  net: [
    ['transport', 'time', 'observe', 'proxies', 'hosts'],
    ['connections'],
    ['cycle'],
    ['http1', 'http2', 'fetch', 'hosted'],
    ['listen', 'inject'],
  ],
  modules: [
    ['kit'],
    ['auth/principal-cookie.ts'],
    [
      'auth/authorization.ts',
      'auth/principal-key.ts',
      'auth/principal-order.ts',
      'auth/scheme.ts',
      'cors/origins.ts',
      'metrics/http-conventions.ts',
      'metrics/metric-source.ts',
      'sse/open-streams.ts',
      'relay/relay-option.ts',
      'relay/relay-ready.ts',
    ],
    ['launch'],
    [
      'auth',
      'client',
      'compression',
      'contract',
      'cors',
      'csrf',
      'decompression',
      'explain',
      'headers',
      'health',
      'lambda',
      'limits',
      'log',
      'metrics',
      'schema',
      'signing',
      'sse',
      'static',
      'webhooks',
      'websocket',
    ],
    ['cache', 'idempotency', 'relay', 'sessions'],
    // What the kit has of modules.
    ['kit/launch.ts'],
    ['kit/index.ts'],
    ['local', 'sqlite'],
  ],
}
/** The same bytes lead to the same result: no sockets, no clocks, no files. */
const PURE: ReadonlySet<string> = new Set(['base', 'wire', 'formats', 'schema', 'model', 'routing'])
/** Bytes, and the contexts in which callbacks run. */
const NODE_OF_PURE: ReadonlySet<string> = new Set(['node:buffer', 'node:async_hooks'])
const NAMELESS = /^(?:utils?|helpers?|common|types?)\.ts$/
const MOST_LINES = 450

interface Import {
  readonly from: string
  readonly to: string
}

const files = readdirSync('packages/weirjs/src', { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .sort()
const imports = files.flatMap(importsOf)
const { dependencies } = JSON.parse(readFileSync('packages/weirjs/package.json', 'utf8')) as Record<string, object>
const packageNames = Object.keys(dependencies!)
/** Only modules may use them, and what is loaded with the first file, so that a program that needs neither does not load them. */
const LATE_ONLY = ['lru-cache']
const isLate = (from: string): boolean => roomOf(from) === 'modules' || from.startsWith('http/files/')

/** `import`, `import type`, `export … from`, `import('…')` as a call and as a type. */
function importsOf(from: string): Import[] {
  const code = readFileSync(`packages/weirjs/src/${from}`, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const found = code.matchAll(/(?<![.\w])(?:from\s*|import\s*\(?\s*)(['"])([^'"\n]+)\1/g)
  return [...found].map(([, , to]) => ({ from, to: to!.startsWith('.') ? posix.join(posix.dirname(from), to!) : to! }))
}

const mayUse = (from: string, name: string): boolean => packageNames.includes(name) && (isLate(from) || !LATE_ONLY.includes(name))
const roomOf = (file: string): string => file.split('/')[0]!
const isFile = ({ to }: Import): boolean => to.endsWith('.ts')
const sentenceOf = ({ from, to }: Import): string => `packages/weirjs/src/${from} imports ${to}`

test('a room imports only itself and the rooms below it', () => {
  const wrong = imports.filter(isFile).filter(({ from, to }) => {
    const more = Object.entries(MORE_DOORS).flatMap(([place, rooms]) => (from.startsWith(place) ? rooms : []))
    const doors = [...(DOORS[roomOf(from)] ?? []), ...more]
    return !files.includes(to) || (roomOf(to) !== roomOf(from) && !doors.includes(roomOf(to)))
  })
  assert.deepEqual(wrong.map(sentenceOf), [])
})

test('inside a large room, imports lead to the same place or to a lower floor', () => {
  const wrong: string[] = []
  for (const [room, floors] of Object.entries(FLOORS)) {
    const isIn = (place: string, file: string): boolean => file === `${room}/${place}` || file.startsWith(`${room}/${place}/`)
    const all = floors.flat().sort((a, b) => b.length - a.length)
    const placeOf = (file: string): string => all.find((place) => isIn(place, file)) ?? ''
    const floorOf = (file: string): number => floors.findIndex((places) => places.includes(placeOf(file)))
    for (const file of files) if (roomOf(file) === room && floorOf(file) === -1) wrong.push(`packages/weirjs/src/${file} has no floor`)
    for (const one of imports.filter(isFile)) {
      if (roomOf(one.from) !== room || roomOf(one.to) !== room || placeOf(one.from) === placeOf(one.to)) continue
      if (floorOf(one.to) >= floorOf(one.from)) wrong.push(sentenceOf(one))
    }
  }
  assert.deepEqual(wrong, [])
})

test('every file is in a room', () => {
  assert.deepEqual(
    files.filter((file) => DOORS[roomOf(file)] === undefined),
    [],
  )
  const loose = files.filter((file) => /^modules\/[^/]+$/.test(file))
  assert.deepEqual(loose, [], 'every file of modules/ is in the folder of a module')
  assert.ok(imports.length > files.length, 'imports were found')
})

test('packages are those that package.json lists, and a pure room uses nothing of Node but bytes and contexts', () => {
  const wrong = imports
    .filter((one) => !isFile(one))
    .filter(({ from, to }) => (to.startsWith('node:') ? PURE.has(roomOf(from)) && !NODE_OF_PURE.has(to) : !mayUse(from, to)))
  assert.deepEqual(wrong.map(sentenceOf), [])
})

test('no file imports itself indirectly', () => {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file))
      circles.push([...way.slice(way.indexOf(file)), file].map((one) => `packages/weirjs/src/${one}`).join(' imports '))
    if (way.includes(file) || done.has(file)) return
    for (const one of imports) if (one.from === file && isFile(one)) visit(one.to, [...way, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  assert.deepEqual(circles, [])
})

test('HTTP/2 is loaded by the servers that speak it alone, and nothing uses that of Node', () => {
  const loads = (from: string): string[] => {
    const code = readFileSync(`packages/weirjs/src/${from}`, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    const found = code.matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^'\n]+)'$/gm)
    return [...found].filter(([line]) => !/\{\s*(?:type \w+,?\s*)+\}/.test(line)).map(([, to]) => posix.join(posix.dirname(from), to!))
  }
  const loaded = new Set(['index.ts', 'net/listen/tls-acceptor.ts'])
  for (const file of loaded) for (const one of loads(file)) loaded.add(one)
  assert.ok(loaded.size > 100 && loaded.has('net/http1/connection.ts'), `${loaded.size} files`)
  assert.deepEqual(
    [...loaded].filter((file) => file.includes('http2/')),
    [],
  )
  const ofNode = imports.filter(({ to }) => to === 'node:http2').map(sentenceOf)
  assert.deepEqual(ofNode, ['packages/weirjs/src/net/hosted/node-http2.ts imports node:http2']) // its types
})

test('every decision has a unique number, which is in its title', () => {
  const decisions = readdirSync('decisions').sort()
  const numberOf = (file: string): string => file.slice(0, 3)
  const untitled = decisions.filter((file) => !readFileSync(`decisions/${file}`, 'utf8').startsWith(`# ${numberOf(file)}: `))
  const twice = decisions.filter((file, i) => numberOf(file) === numberOf(decisions[i - 1] ?? ''))
  assert.deepEqual({ untitled, twice }, { untitled: [], twice: [] })
})

test('a file is named after the one question that it answers', () => {
  // The examples of doc comments are for readers of the declarations.
  const codeOf = (file: string): string =>
    readFileSync(`packages/weirjs/src/${file}`, 'utf8')
      .replace(/^ \* @example\n[\s\S]*?^ \* @see .*\n/gm, '')
      .replace(/^\/\*\*\n( \* .*\n) \*\/\n/gm, '$1')
  const linesOf = (file: string): number => codeOf(file).split('\n').length - 1
  const nameless = files.filter((file) => NAMELESS.test(posix.basename(file)))
  const long = files.filter((file) => linesOf(file) >= MOST_LINES).map((file) => `packages/weirjs/src/${file}: ${linesOf(file)} lines`)
  assert.deepEqual({ nameless, long }, { nameless: [], long: [] })
})

test('the state of an exchange is in tables, and no more than eight booleans are beside them', async () => {
  const house = (await import(pathToFileURL('scripts/house.mjs').href)) as {
    exchangeBooleans(): readonly { readonly file: string; readonly names: readonly string[] }[]
  }
  const all = house.exchangeBooleans().flatMap(({ file, names }) => names.map((name) => `${name} of ${file}`))
  assert.ok(all.includes('owesContinue of net/cycle/request-cycle.ts'), 'they are found')
  assert.ok(all.length <= 8, all.join(', '))
})

test('Buffer is imported: the global with that name is a getter, which the hot path would call for every response', () => {
  const wrong = files.filter((file) => {
    const code = readFileSync(`packages/weirjs/src/${file}`, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    return /\bBuffer\.\w+\(/.test(code) && !/^import \{[^}]*\bBuffer\b[^}]*\} from 'node:buffer'$/m.test(code)
  })
  assert.deepEqual(wrong, [])
})

test('options are checked by tables of rules: nobody lists their names, or refuses an unknown one, by hand', () => {
  const wrong = files.filter((file) => {
    const text = readFileSync(`packages/weirjs/src/${file}`, 'utf8')
    return /\b(?:OPTION_NAMES|namesOf<)|there is no option/.test(text) && file !== 'base/options.ts' && file !== 'base/option-rules.ts'
  })
  assert.deepEqual(wrong, [])
})

test('what the bench loads of a build exists, with the names that it uses: the bench runs by hand, and rooms move', async () => {
  const programs = readdirSync('bench', { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.mjs') && !file.startsWith('node_modules'),
  )
  const missing: string[] = []
  for (const program of programs) {
    const code = readFileSync(posix.join('bench', program), 'utf8')
    const places = [...code.matchAll(/packages\/(\w+)\/(?:dist|src)\/([\w/-]+)\.js'|\bload\('([\w/-]+)\.js'/g)]
    for (const [, name = 'weirjs', inPackage, inWeir] of places)
      if (!existsSync(`packages/${name}/src/${inPackage ?? inWeir}.ts`)) missing.push(`bench/${program}: ${name}/${inPackage ?? inWeir}`)
    const imports = /\{([^{}]+)\} (?:from|= await (?:load|import)\()\s*'(?:[./]*\/packages\/(\w+)\/(?:dist|src)\/)?([\w/-]+)\.js'/g
    for (const [, names, name = 'weirjs', module] of code.matchAll(imports)) {
      if (!existsSync(`packages/${name}/src/${module}.ts`)) continue
      const exported = Object.keys((await import(`../packages/${name}/src/${module}.js`)) as object)
      for (const one of names!.split(',').map((one) => one.trim().split(/[: ]/)[0]!))
        if (one !== '' && !exported.includes(one)) missing.push(`bench/${program}: ${one} of ${name}/${module}`)
    }
  }
  assert.deepEqual(missing, [])
})

/** The modules inside `weirjs` that still use more than what an author outside could use. */
const STILL_INSIDE: readonly string[] = ['websocket']

describe('the modules of weirjs', () => {
  const code = (file: string): string => readFileSync(`packages/weirjs/src/${file}`, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const pathOf = (from: string, to: string): string => posix.join(posix.dirname(from), to)
  const split = (list: string): (readonly [name: string, as: string])[] =>
    list
      .split(',')
      .map((one) => one.trim().replace(/^type /, ''))
      .filter((one) => one !== '')
      .map((one) => [one.split(' as ')[0]!, one.split(' as ').at(-1)!])

  /** Where a name is declared that a file exports. */
  const declared = (file: string, name: string): string => {
    for (const [, list, from] of code(file).matchAll(/^export (?:type )?\{([^}]+)\} from '(\.[^']+)'$/gm))
      for (const [own, as] of split(list!)) if (as === name) return declared(pathOf(file, from!), own)
    return `${name} of ${file}`
  }
  /** Everything that an entry exports, by where it is declared. What a namespace holds is public as well. */
  const exportedBy = (entry: string): string[] => {
    const lists = [...code(entry).matchAll(/^export (?:type )?\{([^}]+)\}(?: from '(\.[^']+)')?$/gm)]
    const own = [...code(entry).matchAll(/^export (?:async )?(?:interface|class|type|function|const) (\w+)/gm)]
    const spaces = [...code(entry).matchAll(/^export \* (?:as \w+ )?from '(\.[^']+)'$/gm)]
    return [
      ...lists.flatMap(([, list]) => split(list!).map(([, as]) => declared(entry, as))),
      ...own.map(([, name]) => `${name} of ${entry}`),
      ...spaces.flatMap(([, from]) => exportedBy(pathOf(entry, from!))),
    ]
  }
  const modules = readdirSync('packages/weirjs/src/modules')
  const entries = ['index.ts', ...modules.map((name) => `modules/${name}/index.ts`).filter((file) => files.includes(file))]
  const shown = new Set(entries.flatMap(exportedBy))
  /**
   * What a module uses that no entry exports. It may import a name from where it is declared: by way of an entry, every module would load all
   * that the entry has, and some would import themselves.
   */
  const hidden = (name: string): string[] => {
    const own = files.filter((file) => file.startsWith(`modules/${name}/`))
    return own.flatMap((file) => {
      const found = [...code(file).matchAll(/^(?:import|export) (?:type )?(?:\{([^}]*)\}|([^;{}']*?)) from '(\.[^']+)'$/gm)]
      const other = found.filter(([, , , to]) => !pathOf(file, to!).startsWith(`modules/${name}/`))
      return other.flatMap(([, list, whole, to]) => {
        if (list === undefined) return [`${whole} of ${pathOf(file, to!)}, for ${file}`]
        return split(list).flatMap(([one]) => {
          const place = declared(pathOf(file, to!), one)
          return shown.has(place) ? [] : [`${place}, for ${file}`]
        })
      })
    })
  }

  test('the kit does not grow inside its namespaces either: the number of names that they hold may only become smaller', () => {
    const all = new Set(exportedBy('modules/kit/index.ts'))
    assert.ok(all.size > 45 && all.size <= 127, `${all.size} names`)
  })

  test('what the entries export is found', () => {
    for (const one of [
      'HttpSession of http/session.ts',
      'invalid of base/options.ts',
      'duration of base/option-kinds.ts',
      'Cache of modules/cache/cache.ts',
    ])
      assert.ok(shown.has(one), one)
    assert.ok(!shown.has('Exchange of http/exchange.ts'))
  })

  for (const name of modules) {
    if (name === 'kit') continue
    const isDone = !STILL_INSIDE.includes(name)
    test(`${name} ${isDone ? 'uses' : 'still uses more than'} what weirjs, weirjs/kit and the other modules export`, (t) => {
      const used = hidden(name)
      if (!isDone) for (const one of new Set(used.map((use) => use.split(', for ')[0]!))) t.diagnostic(one)
      if (isDone) assert.deepEqual(used, [])
      else assert.ok(used.length > 0, `${name} does not belong to STILL_INSIDE anymore`)
    })
  }
})

test('what a file exports, another file imports: the rest belongs to the file alone', () => {
  const sourcesIn = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((file) => posix.join(folder, file.replaceAll('\\', '/')))
      .filter((file) => /\.(?:ts|mjs)$/.test(file) && !/\/(?:node_modules|dist|build)\//.test(file))
  const packages = readdirSync('packages')
  const entries = packages.flatMap((name) => {
    const { exports } = JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8')) as {
      exports: Record<string, { default?: string }>
    }
    return Object.values(exports)
      .flatMap((one) => (one.default ?? []) as string)
      .map((path) => posix.join('packages', name, path.replace('dist/', 'src/').replace(/\.js$/, '.ts')))
  })
  const places = [...packages.map((name) => `packages/${name}`), 'test', 'bench', 'examples']
  const codes = new Map(
    places.flatMap(sourcesIn).map((file) => [file, readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')]),
  )
  const imported = new Set<string>()
  const note = (from: string, to: string, name: string): void => {
    // The bench imports what is built.
    const path = to.startsWith('.') ? posix.join(posix.dirname(from), to) : to
    imported.add(`${path.replace(/\/dist\/(.*)\.js$/, '/src/$1.ts')} ${name}`)
  }
  for (const [file, code] of codes) {
    for (const [, names, to] of code.matchAll(/(?:import|export) (?:type )?\{([^}]*)\} from '([^']+)'/g))
      for (const name of names!.split(','))
        note(
          file,
          to!,
          name
            .trim()
            .replace(/^type /, '')
            .split(' as ')[0]!,
        )
    for (const [, names, to] of code.matchAll(/\{([^{}]*)\} = await import\('([^']+)'\)/g))
      for (const name of names!.split(',')) note(file, to!, name.trim().split(':')[0]!)
    for (const [, to] of code.matchAll(/(?:import|export) (?:type )?\* (?:as \w+ )?from '([^']+)'/g)) note(file, to!, '*')
    for (const [, to, name = '*'] of code.matchAll(/import\('([^']+)'\)\)?(?:\.(\w+))?/g)) note(file, to!, name)
  }
  const dead: string[] = []
  let exported = 0
  for (const [file, code] of codes) {
    if (!/^packages\/[\w-]+\/src\//.test(file) || /(?:\.test|_pb)\.ts$/.test(file) || entries.includes(file) || imported.has(`${file} *`))
      continue
    for (const [, name] of code.matchAll(
      /^export (?:(?:declare|abstract|async) )*(?:interface|type|class|const|let|function\*?) (\w+)/gm,
    )) {
      exported++
      // The test of the guide reads the tables of rules by their names.
      if (!name!.endsWith('_RULES') && !imported.has(`${file} ${name}`)) dead.push(`${file}: ${name}`)
    }
  }
  assert.ok(exported > 1000, `${exported} exports were found`)
  assert.deepEqual(dead, [])
})

describe('the other packages', () => {
  for (const name of readdirSync('packages').filter((one) => one !== 'weirjs')) {
    const source = `packages/${name}/src`
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8')) as Record<string, object>
    const others = Object.keys({ ...dependencies, ...peerDependencies })

    test(`${name} imports what an author outside could import: weirjs, weirjs/kit, and what its package.json names`, () => {
      const wrong: string[] = []
      for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((one) => /(?<!\.test)\.ts$/.test(one))) {
        const code = readFileSync(`${source}/${file}`, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
        for (const [, , to] of code.matchAll(/(?<![.\w])(?:from\s*|import\s*\(?\s*)(['"])([^'"\n]+)\1/g)) {
          const isOwn = to!.startsWith('.') && !posix.join(posix.dirname(file), to!).startsWith('..')
          const isNamed = others.some((one) => to === one || to!.startsWith(`${one}/`))
          if (!isOwn && !isNamed && !to!.startsWith('node:')) wrong.push(`${source}/${file} imports ${to}`)
        }
      }
      assert.deepEqual(wrong, [])
    })
  }
})

describe('weirjs/kit', () => {
  const kit = 'packages/weirjs/src/modules/kit'
  const code = readFileSync(`${kit}/index.ts`, 'utf8')
  /** Where each name is declared: `principalKey as principalKeyOf` under its own name there. */
  const names = [...code.matchAll(/^export (?:type )?\{([^}]+)\} from '([^']+)'$/gm)].flatMap(([, list, from]) =>
    list!
      .split(',')
      .map((one) => one.trim().replace(/^type /, ''))
      .filter((one) => one !== '')
      .map((one) => ({ name: one.split(' as ').at(-1)!, declared: one.split(' as ')[0]!, file: posix.join(kit, from!) })),
  )
  const namespaces = [...code.matchAll(/(\*\/\n)?export \* as (\w+) from/g)].map(([, comment, name]) => ({ name: name!, comment }))

  test('has at most 45 names, because each is one more thing to learn and to keep', () => {
    const all = [...names, ...namespaces].map(({ name }) => name)
    assert.ok(all.includes('exchange') && all.includes('option'), 'names are found')
    assert.equal(new Set(all).size, all.length)
    assert.ok(all.length <= 45, `${all.length} names: ${all.join(', ')}`)
    const exports = [...code.matchAll(/^export /gm)].length
    const read = [...code.matchAll(/^export (?:type )?\{[^}]+\} from '[^']+'$/gm)].length + namespaces.length
    assert.equal(read, exports, 'the test understands every export')
  })

  test('is listed in the guide, name by name', () => {
    const [, list = ''] = readFileSync('docs/guide/modules.md', 'utf8').split('## What `weirjs/kit` has')
    const listed = [...list.matchAll(/^\|(.+?)\|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
    assert.deepEqual(listed.sort(), [...names, ...namespaces].map(({ name }) => name).sort())
  })

  test('says of every name what it means', () => {
    const bare = names.filter(({ declared, file }) => {
      const source = readFileSync(file, 'utf8')
      const at = source.search(new RegExp(`^export (?:abstract |async )?(?:interface|class|type|function|const) ${declared}\\b`, 'm'))
      return at === -1 || !source.slice(0, at).endsWith('*/\n')
    })
    assert.deepEqual(
      [...bare, ...namespaces.filter(({ comment }) => comment === undefined)].map(({ name }) => name),
      [],
    )
  })
})
