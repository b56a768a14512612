// Files in memory, which do not change: what a program has built, or what a single executable carries.

import { createHash } from 'node:crypto'

import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { DiskFile } from '../kit/disk-file.ts'
import {
  type Form,
  type Found,
  fileOf,
  PRECOMPRESSED,
  type PrecompressedEncoding,
  type Presentation,
  type Shelf,
  type StaticFile,
} from './file.ts'

/** The content of a file: bytes, which must not be changed afterwards, or text. */
type Asset = Uint8Array | ArrayBuffer | string

/** Files by their path, with slashes: `index.html`, `img/logo.svg`. */
export type Assets = ReadonlyMap<string, Asset> | Readonly<Record<string, Asset>>

/** @throws WEIR_OPTION_INVALID */
export function checkedAssets(assets: Assets): ReadonlyMap<string, Asset> {
  if (typeof assets !== 'object' || assets === null)
    throw invalid('static', `assets is ${kindOf(assets)}, not a Map or an object of files by path`)
  const files = new Map<string, Asset>(assets instanceof Map ? assets : Object.entries(assets))
  for (const [path, content] of files) {
    if (typeof path !== 'string' || !isPath(path))
      throw invalid('static', `assets: ${JSON.stringify(path)} is not a path such as img/logo.svg`)
    if (typeof content !== 'string' && !(content instanceof Uint8Array) && !(content instanceof ArrayBuffer))
      throw invalid('static', `assets: ${path} is ${kindOf(content)}, not bytes or text`)
  }
  return files
}

function isPath(path: string): boolean {
  return !/[\\\0]/.test(path) && path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')
}

/** Prepares each file when it is first asked for, so that a program starts as fast with a thousand of them. */
export class AssetShelf implements Shelf {
  readonly title = 'in memory'
  readonly #presentation: Presentation
  readonly #assets: ReadonlyMap<string, Asset>
  readonly #directories = new Set<string>()
  /** At most one for each asset, as no other names are prepared. */
  readonly #prepared = new Map<string, StaticFile>()

  constructor(presentation: Presentation, assets: ReadonlyMap<string, Asset>) {
    this.#presentation = presentation
    this.#assets = assets
    for (const path of assets.keys())
      for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) this.#directories.add(path.slice(0, end))
  }

  peek(name: string): StaticFile | null {
    return this.#prepared.get(name) ?? null
  }

  async find(name: string): Promise<Found> {
    const prepared = this.#prepared.get(name)
    if (prepared !== undefined) return prepared
    const plain = this.#formOf(name, null)
    if (plain === null) return name === '.' || this.#directories.has(name) ? 'directory' : null
    const forms = this.#presentation.precompressed.map((coding) => this.#formOf(name, coding)).filter((form) => form !== null)
    const file = await fileOf(this.#presentation, name, [plain, ...forms], '')
    this.#prepared.set(name, file)
    return file
  }

  #formOf(name: string, coding: PrecompressedEncoding | null): Form | null {
    const path = coding === null ? name : name + PRECOMPRESSED[coding]
    const content = this.#assets.get(path)
    if (content === undefined) return null
    const bytes =
      typeof content === 'string' ? new TextEncoder().encode(content) : content instanceof ArrayBuffer ? new Uint8Array(content) : content
    const tag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
    return { coding, path, inode: '', size: bytes.byteLength, settledAt: 0, inMemory: (facts) => DiskFile.fixed(bytes, tag, facts) }
  }
}
