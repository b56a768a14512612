import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * The folder of the page and its files. They are next to the sources, and tsc does not copy them. So this function looks for
 * `examples/demo` in the folders above this module, the nearest first. That works from the sources and from any folder below them that
 * contains the compiled module.
 */
export function siteFolder(): string {
  const here = new URL('.', import.meta.url)
  for (let folder = here; ; folder = new URL('..', folder)) {
    const site = fileURLToPath(new URL('examples/demo/site', folder))
    if (existsSync(site)) return site
    if (folder.pathname === '/') throw new Error(`no examples/demo/site above ${fileURLToPath(here)}`)
  }
}
