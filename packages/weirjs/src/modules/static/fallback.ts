// Decides which requests without a file come from a page that does its own routing, and get the application's page.

import { BYTES_TYPE } from '../../formats/media-type.ts'
import { typeOf } from '../../http/files/file.ts'
import type { HttpRequest } from '../../http/request/request.ts'

/** The fields on which the response depends. */
export const FALLBACK_VARY = ['Accept', 'Sec-Fetch-Mode']

/** Whether a person navigates there. Browsers send Sec-Fetch-Mode; without it, the client must accept HTML. */
export function isNavigation(request: HttpRequest): boolean {
  const mode = request.header('sec-fetch-mode')
  return mode === null ? /\btext\/html\b/i.test(request.header('accept') ?? '') : mode === 'navigate'
}

/** False if the last segment has the extension of a known file type: a missing image is a 404 for everyone. */
export async function isPagePath({ path }: HttpRequest): Promise<boolean> {
  return (await typeOf(path.slice(path.lastIndexOf('/') + 1))) === BYTES_TYPE
}
