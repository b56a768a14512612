/**
 * Aborts, and ignores what throws. A program may have broken its signal, for example by replacing `dispatchEvent`; that must not stop the
 * caller.
 */
export function abortQuietly(controller: AbortController, reason: unknown): void {
  try {
    controller.abort(reason)
  } catch {}
}
