// Whether a client would rather have a page than data.

import { qualityOf } from '../../formats/accept.ts'

/** @param accept the value of Accept; null without one */
export function prefersHtml(accept: string | null): boolean {
  if (accept === null) return false
  const html = qualityOf(accept, 'text/html')
  return html > qualityOf(accept, 'application/problem+json') && html > qualityOf(accept, 'application/json')
}
