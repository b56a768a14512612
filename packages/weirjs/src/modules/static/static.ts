// `weirjs/static`: serves the files of a directory under a path of the URL.
//
// It is a middleware and not a route. It looks for a file only if no route was found. So routes take precedence whatever the order and cost
// nothing extra, and a request without a file continues to the next directory or to the 404.

import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Module, ModuleHost } from '../../app/module-host.ts'
import type { Middleware, Next } from '../../app/policies/middleware.ts'
import type { Duration } from '../../base/duration.ts'
import { shown } from '../../base/kind-of.ts'
import { duration, flag, listOf, matching, readBy, size, text, texts } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { Size } from '../../base/size.ts'
import { EncodingChooser } from '../../formats/accept-encoding.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { DiskFile } from '../kit/disk-file.ts'
import { exchange } from '../kit/exchange.ts'
import { responseHandle } from '../kit/response.ts'
import { AssetShelf, type Assets, checkedAssets } from './assets.ts'
import { deltaCoding } from './delta-coding.ts'
import { Dictionaries } from './dictionaries.ts'
import { DiskShelf } from './disk-shelf.ts'
import { type Found, inodeOf, PRECOMPRESSED, type PrecompressedEncoding, type Shelf, type StaticFile, type StaticVariant } from './file.ts'
import { headersOf, type StaticHeaders } from './headers.ts'
import { readStaticPath } from './path.ts'

/** The fields on which it depends whether a client gets the page of `fallback`. */
const FALLBACK_VARY = ['Accept', 'Sec-Fetch-Mode']

export interface StaticOptions {
  /** The directory. It must exist when the module is created. A relative path is resolved against the working directory of the process. */
  readonly root?: string
  /**
   * Files in memory in place of `root`: bytes or texts by their path, such as `index.html` or `img/logo.svg`. A `Map`, an object, or what
   * `seaAssets` returns. They do not change after this.
   */
  readonly assets?: Assets
  /** The path of the URL under which the files appear. Default `/`. */
  readonly prefix?: string
  /**
   * The file to send for a path that ends with a slash; a directory without that slash is redirected there. Default `index.html`; false:
   * none.
   */
  readonly index?: string | false
  /**
   * Extensions to try, in this order, if no file has exactly the requested name: with `['html']`, `/about` is `about.html`. Default none.
   */
  readonly extensions?: readonly string[]
  /**
   * The file to send for pages that do not exist, by its path below the root: `index.html` of an application that does its own routing in
   * the browser. It must exist when the module is created. It is sent for navigations only, and never for a path with the extension of a
   * known file type. Default none.
   */
  readonly fallback?: string
  /**
   * The Cache-Control of every file, or a function of the path below the root that returns it; null: none. Default `no-cache`: clients keep
   * the file, and check each time whether it has changed.
   */
  readonly cacheControl?: string | null | ((path: string) => string | null)
  /**
   * Other fields of every file, or a function of the path below the root that returns them. A Content-Type replaces the type that follows
   * from the extension. Default none.
   */
  readonly headers?: StaticHeaders
  /** Names that are served although they begin with a dot, such as `.well-known`. Default none. */
  readonly dotfiles?: readonly string[]
  /** Whether links may lead out of the root. Default false. */
  readonly followSymlinks?: boolean
  /**
   * Whether to send `page.html.br` and `page.html.gz` instead of `page.html` to clients that accept them; a list selects codings. Default
   * false.
   */
  readonly precompressed?: boolean | readonly PrecompressedEncoding[]
  /**
   * Whether a client that has an older version of a file gets the difference (RFC 9842, `dcz`), for files of `root` of up to 4 MiB with a hash in
   * their name, such as `app-1a2b3c4d.js`. The older version must still be there. Needs Zstandard with dictionaries: Node.js 22.15 or later; elsewhere it is a
   * warning at the start. Differences take up to a quarter of `maxCacheSize`. Default false.
   */
  readonly dictionaries?: boolean
  /**
   * Memory for files, including 1 KiB for each. When exceeded: the file that has gone unchecked for the longest time is dropped.
   * Default 32 MiB; 0: no file is kept.
   */
  readonly maxCacheSize?: Size
  /** Size above which a file is read from the disk each time. Default 256 KiB. */
  readonly maxCachedFileSize?: Size
  /** How long a file in memory is sent without checking the disk. Default 1 s; 0: it is checked each time. */
  readonly checkInterval?: Duration
}

const CODINGS = Object.keys(PRECOMPRESSED) as PrecompressedEncoding[]
/** @internal */
export const STATIC_RULES = rules<StaticOptions>('static')(
  {
    root: readBy(directoryAt).optional('required, or assets'),
    assets: readBy(checkedAssets).optional('required, or root'),
    prefix: text('a path such as /assets', (path) => path.startsWith('/') && !/[%?#\\]|\/\//.test(path)).or('/'),
    index: text('the name of a file', (name) => name !== '' && !/[/\\]/.test(name))
      .also(false)
      .or('index.html'),
    extensions: texts('an extension such as html', (one) => /^[^./\\]+(?:\.[^./\\]+)*$/.test(one)).or([]),
    fallback: text('the path of a file below the root', isBelow).orNull(),
    cacheControl: matching<Exclude<StaticOptions['cacheControl'], undefined>>('a string, a function or null', isFieldOption).or('no-cache'),
    headers: readBy(headersOf).or({}, 'none'),
    dotfiles: texts().or([]),
    followSymlinks: flag(false),
    precompressed: listOf(...CODINGS)
      .also(true)
      .also(false)
      .or(false),
    dictionaries: flag(false),
    maxCacheSize: size().or('32MiB'),
    maxCachedFileSize: size().or('256KiB'),
    checkInterval: duration({ least: 0 }).or('1s'),
  },
  {
    needs: { followSymlinks: 'root', dictionaries: 'root', maxCacheSize: 'root', maxCachedFileSize: 'root', checkInterval: 'root' },
    elsewhere: { dir: 'root', directory: 'root', folder: 'root', maxAge: 'cacheControl' },
  },
)
/** How often to look for a file whose name leads elsewhere by the time it is opened. */
const MOST_ATTEMPTS = 3
const FILE_METHODS = ['GET']

/**
 * Returns a module that serves the files below a directory, or files in memory. Several can be installed; the first that has the file answers
 * the request.
 *
 * @throws WEIR_OPTION_INVALID, also if the directory or the fallback does not exist
 */
export function staticFiles(options: StaticOptions & ({ readonly root: string } | { readonly assets: Assets })): Module {
  const files = new StaticFiles(options)
  return {
    name: files.name,
    install(host) {
      const prefix = files.prefixOn(host.prefix)
      ;(host as ModuleHost & Partial<OwnsUnrouted>).ownUnrouted?.()
      const staticFiles: Middleware = (session, next) => files.answer(session, next, prefix) // its name is shown where policies are listed
      host.use(staticFiles)
    },
  }
}

/** It answers requests without a route, which otherwise belong to the server. */
interface OwnsUnrouted {
  ownUnrouted(): void
}

class StaticFiles {
  readonly name: string
  readonly prefix: string
  readonly shelf: Shelf
  readonly #index: string | false
  readonly #extensions: readonly string[]
  /** Null: no fallback. */
  readonly #fallback: string | null
  readonly #dotfiles: ReadonlySet<string>
  /** Null without precompressed versions. */
  readonly #chooser: EncodingChooser | null
  /** Null: none are used. */
  readonly #dictionaries: Dictionaries | null

  constructor(options: StaticOptions) {
    const settings = STATIC_RULES.read(options)
    const { root, assets, prefix, index, extensions, fallback, cacheControl, precompressed, maxCacheSize, maxCachedFileSize } = settings
    this.prefix = prefix.endsWith('/') ? prefix : `${prefix}/`
    const codings = precompressed === true ? CODINGS : precompressed === false ? [] : precompressed
    const presentation = {
      precompressed: codings,
      headersOf: settings.headers,
      cacheControlOf: typeof cacheControl === 'function' ? cacheControl : () => cacheControl,
    }
    if ((root === undefined) === (assets === undefined))
      throw invalid(
        'static',
        root === undefined ? 'either root or assets is needed' : 'root and assets cannot both be given: install the module twice',
      )
    const compress = settings.dictionaries ? deltaCoding() : null
    if (settings.dictionaries && compress === null)
      process.emitWarning(
        `static: dictionaries are not used, because Zstandard of Node.js ${process.versions.node} has none: 22.15 or later has`,
      )
    const deltaBytes = compress === null ? 0 : Math.floor(maxCacheSize / 4)
    this.shelf =
      root === undefined
        ? new AssetShelf(presentation, assets!)
        : new DiskShelf(
            {
              ...presentation,
              path: root,
              followSymlinks: settings.followSymlinks,
              maxFileSize: maxCacheSize === 0 ? -1 : Math.min(maxCachedFileSize, maxCacheSize),
            },
            maxCacheSize - deltaBytes,
            settings.checkInterval,
          )
    this.name = `static ${this.prefix} ${this.shelf.title}`
    this.#dictionaries = compress === null ? null : new Dictionaries(root!, this.shelf, compress, deltaBytes)
    this.#index = index
    this.#dotfiles = new Set(settings.dotfiles)
    this.#extensions = extensions
    this.#fallback = fallback === null ? null : fallback.replace(/^\//, '')
    if (this.#fallback !== null && (root === undefined ? !assets!.has(this.#fallback) : !isFile(join(root, this.#fallback))))
      throw invalid('static', `fallback ${root === undefined ? fallback : join(root, this.#fallback)} is not a file`)
    // Files in memory are found by name without further checks, so these two would be served for as long as they are in memory.
    for (const name of [index || null, this.#fallback])
      if (name !== null && this.#nameOf(this.prefix + name, this.prefix) === null)
        throw invalid('static', `${JSON.stringify(name)} is never served: a name that begins with a dot must be listed in dotfiles`)
    this.#chooser = codings.length === 0 ? null : new EncodingChooser(codings)
  }

  /** The path below which its files are where it is installed. @param outer the path of a group; empty for a server */
  prefixOn(outer: string): string {
    if (outer === '') return this.prefix
    const prefix = outer.replace(/\/$/, '') + this.prefix
    STATIC_RULES.table.prefix.read(prefix, { owner: 'static', option: 'prefix' })
    return prefix
  }

  /** Returns no promise if the file is in memory, or if a route was found. */
  answer(session: HttpSession, next: Next, prefix: string): HttpResponse | Promise<HttpResponse> {
    if (session.route !== null) return next()
    const { path, method } = session.request
    const isRead = method === 'GET' || method === 'HEAD'
    if (isRead && path.startsWith(prefix)) {
      // A name under which a file is kept was checked before, so it does not have to be checked again.
      const file = this.shelf.peek(path.slice(prefix.length))
      if (file !== null) return this.#send(session, next, file)
    }
    const name = this.#nameOf(path, prefix)
    if (name === null) return next()
    if (!isRead) return this.#answerOther(session, next, name)
    const kept = this.shelf.peek(name)
    return kept !== null ? this.#send(session, next, kept) : this.#answerFromDisk(session, next, name)
  }

  /** Many requests may wait for the same name. */
  #find(session: HttpSession, name: string): Promise<Found> {
    return exchange(session).inTurn(this.shelf.find(name))
  }

  /** The file of that name, or the first that has one of the extensions after it; otherwise what was found instead of a file. */
  async #findAny(session: HttpSession, name: string): Promise<Found> {
    const found = await this.#find(session, name)
    if (found === 403 || (found !== null && found !== 'directory') || name === '.') return found
    for (const extension of this.#extensions) {
      const file = await this.#find(session, `${name}.${extension}`)
      if (file !== null && file !== 'directory') return file
    }
    return found
  }

  /** The file's path below the root; null if nothing is served under that path. */
  #nameOf(path: string, prefix: string): string | null {
    // The directory of the prefix, without its slash: it has no name, but it has to be redirected.
    if (path.length === prefix.length - 1 && prefix.startsWith(path)) return '.'
    const name = readStaticPath(path, prefix, this.#dotfiles, process.platform === 'win32')
    if (name === null || (name !== '' && !name.endsWith('/'))) return name
    return this.#index === false ? null : name + this.#index
  }

  async #answerFromDisk(session: HttpSession, next: Next, name: string): Promise<HttpResponse> {
    const file = await this.#findAny(session, name)
    if (file === null) return this.#answerMissing(session, next)
    if (file === 403) return session.response.forbidden()
    return file === 'directory' ? this.#redirect(session, next, name) : this.#send(session, next, file)
  }

  async #answerMissing(session: HttpSession, next: Next): Promise<HttpResponse> {
    if (this.#fallback === null || !(await isPagePath(session.request))) return next()
    // Set even if the page is not sent: a cache must not send the 404 for a script to a person.
    session.response.vary(...FALLBACK_VARY)
    if (!isNavigation(session.request)) return next()
    const page = await this.#find(session, this.#fallback)
    return page === null || typeof page !== 'object' ? next() : this.#send(session, next, page)
  }

  /** Redirects to the same path with a slash. The location is relative, so it cannot lead anywhere else, whatever comes before it. */
  async #redirect(session: HttpSession, next: Next, name: string): Promise<HttpResponse> {
    if (this.#index === false) return this.#answerMissing(session, next)
    const index = await this.#find(session, `${name}/${this.#index}`)
    if (index === null || typeof index !== 'object') return this.#answerMissing(session, next)
    const { path, queryString } = session.request
    const last = encodeURIComponent(path.slice(path.lastIndexOf('/') + 1))
    return session.response.redirect(`./${last}/${queryString === '' ? '' : `?${queryString}`}`, 301)
  }

  /**
   * A file supports GET, in addition to the methods of a route with the same path. The response lists them in Allow, whatever produces it.
   */
  async #answerOther(session: HttpSession, next: Next, name: string): Promise<HttpResponse> {
    const file = await this.#findAny(session, name)
    if (file !== null && typeof file === 'object') exchange(session).offer(FILE_METHODS)
    return next()
  }

  #send(session: HttpSession, next: Next, file: StaticFile): HttpResponse | Promise<HttpResponse> {
    exchange(session).answeredBy = this.name
    const delta = this.#dictionaries?.offer(session, file) ?? null
    if (delta === null) return this.#sendVariant(session, next, file)
    return Promise.resolve(delta).then((sent) => (sent === null ? this.#sendVariant(session, next, file) : sent.send(session)))
  }

  #sendVariant(session: HttpSession, next: Next, file: StaticFile, attempts = MOST_ATTEMPTS): HttpResponse | Promise<HttpResponse> {
    const variant = this.#variantFor(session.request, file)
    if (variant.memory === null) return this.#sendFromDisk(session, next, file, variant, attempts - 1)
    return variant.memory.send(session)
  }

  /** The file that is sent must be the file that was found. If its name leads elsewhere by now, it is looked up again. */
  async #sendFromDisk(session: HttpSession, next: Next, file: StaticFile, variant: StaticVariant, attempts: number): Promise<HttpResponse> {
    const { response } = session
    const { coding, inode, path } = variant
    if (coding !== null) response.header('Content-Encoding', coding)
    if (file.variants.length > 1) response.vary('Accept-Encoding')
    const { contentType, cacheControl, fields } = file
    responseHandle(response).addMissing(fields)
    const found = await DiskFile.open(path)
    if (typeof found === 'object' && inodeOf(found.stats) === inode)
      return found.send(session, cacheControl === null ? { contentType } : { contentType, cacheControl })
    if (typeof found === 'object') await found.close()
    response.removeHeader('Content-Encoding')
    const other = attempts === 0 ? null : await this.#find(session, file.name)
    if (other === 403) return response.forbidden()
    return other === null || other === 'directory' ? next() : this.#sendVariant(session, next, other, attempts)
  }

  #variantFor(request: HttpRequest, { variants }: StaticFile): StaticVariant {
    if (variants.length === 1 || this.#chooser === null) return variants[0]
    for (const coding of this.#chooser.choose(request.header('accept-encoding')).codings) {
      const variant = variants.find((one) => one.coding === coding)
      if (variant !== undefined) return variant
    }
    return variants[0]
  }
}

/** Whether this is the path of a file below the root. It may begin with a slash. */
function isBelow(fallback: string): boolean {
  const segments = fallback.replace(/^\//, '').split('/')
  return !segments.some((segment) => segment === '' || segment === '.' || segment === '..') && !/[\\\0]/.test(fallback)
}

function isFieldOption(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'function'
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/** @throws WEIR_OPTION_INVALID */
function directoryAt(root: string): string {
  if (typeof root !== 'string') throw invalid('static', `root is ${shown(root)}, not the path of a directory`)
  const path = resolve(root)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw invalid(
      'static',
      `root ${path} is not a directory: create it, or write the path of another; relative ones begin at ${process.cwd()}`,
    )
  return path
}

/** Whether a person navigates there. Browsers send Sec-Fetch-Mode; without it, the client must accept HTML. */
function isNavigation(request: HttpRequest): boolean {
  const mode = request.header('sec-fetch-mode')
  return mode === null ? /\btext\/html\b/i.test(request.header('accept') ?? '') : mode === 'navigate'
}

/** False if the last segment has the extension of a known file type: a missing image is a 404 for everyone. */
async function isPagePath({ path }: HttpRequest): Promise<boolean> {
  return (await DiskFile.typeOf(path.slice(path.lastIndexOf('/') + 1))) === 'application/octet-stream'
}
