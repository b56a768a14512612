const headers = { 'Content-Type': 'application/json' }
const show = (count) => {
  document.getElementById('count').textContent = count
}
const call = async (options) => show((await (await fetch('/api/count', options)).json()).count)

document.getElementById('more').onclick = () => call({ method: 'POST', headers, body: '{}' })
new EventSource('/api/events').onmessage = ({ data }) => show(data)
call()
