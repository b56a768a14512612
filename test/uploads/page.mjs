// What a page does with tus-js-client and with Uppy. Bundled for Chromium by browsers.test.ts.

import Uppy from '@uppy/core'
import UppyTus from '@uppy/tus'
import { Upload } from 'tus-js-client'

/** The same bytes as `patternBytes` makes. */
function file(size) {
  const bytes = new Uint8Array(size)
  for (let at = 0; at < size; at++) bytes[at] = (at * 31 + (at >>> 8) * 17 + (at >>> 16)) & 0xff
  return new File([bytes], 'picture.png', { type: 'image/png', lastModified: 1 })
}

const RETRIES = [0, 100, 300, 1_000, 3_000]

/** With tus-js-client. Continues what an earlier page has begun. Resolves with the URL of the upload. */
globalThis.sendWithTus = async (endpoint, size, more = {}) => {
  const content = file(size)
  return await new Promise((resolve, reject) => {
    const upload = new Upload(content, {
      endpoint,
      retryDelays: RETRIES,
      metadata: { filename: content.name, filetype: content.type },
      onError: (error) => reject(new Error(String(error))),
      onSuccess: () => resolve(upload.url),
      onProgress: (sent) => {
        globalThis.sent = sent
      },
      ...more,
    })
    upload.findPreviousUploads().then(([previous]) => {
      if (previous !== undefined) upload.resumeFromPreviousUpload(previous)
      upload.start()
    })
  })
}

/** With Uppy. Resolves with the URL of the upload. */
globalThis.sendWithUppy = async (endpoint, size) => {
  const uppy = new Uppy().use(UppyTus, { endpoint, retryDelays: RETRIES })
  const content = file(size)
  uppy.addFile({ name: content.name, type: content.type, data: content })
  const { successful, failed } = await uppy.upload()
  if (failed.length > 0) throw new Error(String(failed[0].error))
  return successful[0].uploadURL
}
