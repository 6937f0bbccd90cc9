// Regions that scroll sideways can be reached by the keyboard.
for (const one of document.querySelectorAll("pre, .table-wrapper, .cell_output .output"))
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;

// The menu of versions: tools/site_versions.py writes versions.json beside the folders of the versions.
const menu = document.querySelector(".versions");
const top_ = new URL(document.documentElement.dataset.content_root + "../", location.href);
if (menu && location.protocol.startsWith("http"))
    fetch(new URL("versions.json", top_))
        .then((answer) => (answer.ok ? answer.json() : []))
        .then((versions) => {
            const choice = menu.querySelector("select");
            for (const name of versions)
                choice.add(new Option(name, name, false, location.href.startsWith(new URL(name + "/", top_).href)));
            choice.onchange = () => location.assign(new URL(choice.value + "/", top_));
            menu.hidden = versions.length === 0;
        })
        .catch(() => {});
