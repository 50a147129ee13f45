const numbers = document.getElementById("numbers").textContent;
document.getElementById("save").href = URL.createObjectURL(new Blob([numbers], {type: "application/json"}));
