// The files that a single executable carries (https://nodejs.org/api/single-executable-applications.html).

import { WeirError } from '../../base/errors.ts'

/** The members of `node:sea` that are used. Node 20 and early versions of 22 and 24 lack some of them. */
interface SeaOfNode {
  isSea?(): boolean
  getAssetKeys?(): string[]
  getRawAsset?(key: string): ArrayBuffer
}

/**
 * The files that this executable carries as assets, by their path, for `staticFiles({ assets })`. The bytes belong to the executable: they
 * are not copied.
 *
 * ```ts
 * const assets = seaAssets('site/')
 * server.use(staticFiles(assets === null ? { root: 'site' } : { assets }))
 * ```
 *
 * @param prefix selects the assets whose keys begin with it, and is not part of their paths. Default: all of them
 * @returns null if this process does not run from a single executable
 * @throws WEIR_SERVER_STATE on a version of Node that cannot list assets: 22.20 and 24.8 can
 */
export function seaAssets(prefix = ''): ReadonlyMap<string, Uint8Array> | null {
  return assetsOf(process.getBuiltinModule('node:sea') as SeaOfNode | undefined, prefix)
}

export function assetsOf(sea: SeaOfNode | undefined, prefix: string): ReadonlyMap<string, Uint8Array> | null {
  if (sea?.isSea?.() !== true) return null
  if (sea.getAssetKeys === undefined || sea.getRawAsset === undefined)
    throw new WeirError('WEIR_SERVER_STATE', 'seaAssets() needs Node 22.20, 24.8 or later, which can list the assets of an executable')
  const keys = sea.getAssetKeys().filter((key) => key.startsWith(prefix))
  return new Map(keys.map((key) => [key.slice(prefix.length), new Uint8Array(sea.getRawAsset!(key))]))
}
